//! Writes routes and timers.

use milepost_model::Selector;
use milepost_model::unit_put::{RoutePut, TargetPut, TimerPut};

use super::outline::{OutlineUnit, Sections};
use super::yaml::{Entry, Yaml, entry};

impl Sections {
    /// Writes `GET /hello: hello`, or with further settings, `GET /hello: { function: hello, alias:
    /// stable }`.
    pub(super) fn route(&mut self, put: &RoutePut, unit: &OutlineUnit) {
        let methods: Vec<&str> = put.methods.iter().map(String::as_str).collect();
        let key = if methods.is_empty() { put.path.clone() } else { format!("{} {}", methods.join(","), put.path) };
        let mut fields = target(&put.target);
        for (key, set) in [("prefix", put.prefix), ("strip", put.strip), ("fission", put.fission)] {
            if set {
                fields.push(entry(key, Yaml::Bare("true".to_owned())));
            }
        }
        if !put.host.is_empty() {
            fields.push(entry("host", Yaml::text(&put.host)));
        }
        // The default name of a route is its methods and its path.
        if unit.put.name.as_str() != key {
            fields.push(entry("name", Yaml::text(unit.put.name.as_str())));
        }
        let value = match fields.as_slice() {
            [_] => Yaml::text(put.target.function.as_str()),
            _ => Yaml::Map(fields).short(),
        };
        self.routes.push(Yaml::Map(vec![entry(&key, value)]));
    }

    pub(super) fn timer(&mut self, put: &TimerPut, unit: &OutlineUnit) {
        let mut fields = vec![entry("cron", Yaml::text(&put.cron))];
        if !put.zone.is_empty() {
            fields.push(entry("zone", Yaml::text(&put.zone)));
        }
        fields.extend(target(&put.target));
        self.timers.push(entry(unit.put.name.as_str(), Yaml::Map(fields).short()));
    }
}

fn target(target: &TargetPut) -> Vec<Entry> {
    let function = entry("function", Yaml::text(target.function.as_str()));
    let which = match &target.version {
        Selector::Latest => None,
        Selector::Alias(alias) => Some(entry("alias", Yaml::text(alias.as_str()))),
        Selector::Number(number) => Some(entry("version", Yaml::Bare(number.to_string()))),
        other => Some(entry("version", Yaml::text(other.to_string()))),
    };
    std::iter::once(function).chain(which).collect()
}
