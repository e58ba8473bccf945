//! `routes:` and `timers:`

use std::collections::BTreeSet;

use milepost_model::unit_put::{RoutePut, TargetPut, TimerPut, UnitPut};
use milepost_model::{Selector, UnitKind};

use super::super::target::selector;
use super::super::yaml::{Content, Fields, Key, Node, text};
use super::super::{Pointer, checks};
use super::{Found, called};

const ROUTE_KEYS: [&str; 7] = ["function", "alias", "version", "prefix", "host", "methods", "name"];
const TIMER_KEYS: [&str; 5] = ["cron", "zone", "function", "alias", "version"];
const ROUTE_FORM: &str = "write `- GET /hello: hello`, or `- GET /hello: { function: hello, alias: stable }`";

impl Found<'_> {
    pub(super) fn route(&mut self, node: Node) {
        let line = node.line;
        let entries = match node.content {
            Content::Map(entries) => entries,
            _ => Vec::new(),
        };
        if entries.len() != 1 {
            let message = "a route is one line with a method, a path and a function";
            self.sink.wrong_hint(line, message, ROUTE_FORM);
            // Several that only lack their `-` are looked at all the same.
            let routes = entries.into_iter().filter(|(key, _)| key.text.contains('/'));
            routes.for_each(|(key, target)| self.one_route(&key, target));
            return;
        }
        entries.into_iter().for_each(|(key, target)| self.one_route(&key, target));
    }

    pub(super) fn one_route(&mut self, key: &Key, target: Node) {
        let line = key.line;
        let what = called(UnitKind::Route, key);
        let split = match key.text.split_once(char::is_whitespace) {
            Some((methods, path)) => Some((methods, path.trim())),
            None if key.text.starts_with('/') => Some(("", key.text.as_str())),
            None => {
                self.sink.wrong_hint(line, format!("`{}` is not a route", key.text), ROUTE_FORM);
                None
            }
        };
        let upper = |method: &str| method.trim().to_uppercase();
        let in_key = split.map_or("", |(methods, _)| methods).split(',').map(|method| (upper(method), line));
        let mut methods: Vec<(String, u64)> = in_key.filter(|(method, _)| !method.is_empty()).collect();
        let (mut prefix, mut host, mut own_name) = (false, String::new(), None);
        let target = match target.content {
            Content::Map(_) => {
                let mut fields = Fields::read(self.sink, target, line, &what, &ROUTE_KEYS);
                prefix = fields.flag("prefix");
                host = fields.text("host").unwrap_or_default();
                methods.extend(fields.texts("methods").into_iter().map(|(method, line)| (upper(&method), line)));
                own_name = fields.text_at("name");
                self.target(&mut fields)
            }
            _ => {
                let at = target.line;
                let function = text(self.sink, target, &what);
                function.and_then(|function| self.function_target(&function, at, line, &what, Selector::Latest))
            }
        };
        for (error, line) in methods.iter().filter_map(|(method, line)| Some((checks::method(method)?, *line))) {
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        let methods: BTreeSet<String> = methods.into_iter().map(|(method, _)| method).collect();
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        let wrong_path = split.and_then(|(_, path)| checks::path(path));
        if let Some(error) = &wrong_path {
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        let by_path =
            |path: &str| if names.is_empty() { path.to_owned() } else { format!("{} {path}", names.join(",")) };
        // A name that is made from what is wrong is not another mistake.
        let given = own_name.or_else(|| {
            let (_, path) = split.filter(|_| wrong_path.is_none())?;
            Some((by_path(path), line))
        });
        let name = given.and_then(|(name, line)| self.name(UnitKind::Route, &name, line, ""));
        if let Some((name, place)) = name.as_ref().and_then(|name| Some((name, self.earlier(UnitKind::Route, name)?))) {
            let message = format!("route `{name}` is there twice, first on line {}", place.line);
            self.sink.wrong_hint(line, message, "keep one of them");
        }
        let (Some((_, path)), Some(target), Some(name)) = (split, target, name) else { return };
        let put = RoutePut { methods, path: path.to_owned(), prefix, host, target };
        self.add(name, UnitPut::Route(put), Vec::new(), line);
    }

    pub(super) fn timer(&mut self, key: &Key, node: Node) {
        let what = called(UnitKind::Timer, key);
        let mut fields = Fields::read(self.sink, node, key.line, &what, &TIMER_KEYS);
        let cron = fields.need("cron", "write the schedule as five fields, like `cron: \"0 3 * * *\"`");
        let zone = fields.text_at("zone");
        let wrong_cron = cron.as_ref().and_then(|(cron, line)| Some((checks::cron(cron)?, *line)));
        let wrong_zone = zone.as_ref().and_then(|(zone, line)| Some((checks::zone(zone)?, *line)));
        for (error, line) in wrong_cron.into_iter().chain(wrong_zone) {
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        let target = self.target(&mut fields);
        let name = self.name(UnitKind::Timer, &key.text, key.line, "");
        let (Some((cron, _)), Some(target), Some(name)) = (cron, target, name) else { return };
        let put = TimerPut { cron, zone: zone.map(|(zone, _)| zone).unwrap_or_default(), target };
        self.add(name, UnitPut::Timer(put), Vec::new(), key.line);
    }

    fn target(&mut self, fields: &mut Fields<'_>) -> Option<TargetPut> {
        let what = fields.what().to_owned();
        let function = fields.need("function", "name the function with `function: hello`");
        let (alias, version) = (fields.text_at("alias"), fields.text_at("version"));
        let version = selector(self.sink, &what, alias, version);
        let (function, line) = function?;
        let target = self.function_target(&function, line, fields.line, &what, Selector::Latest)?;
        let (version, line) = version?;
        if let Some(line) = line.filter(|_| version != Selector::Latest) {
            let (function, version) = (target.function.clone(), version.clone());
            self.pointers.push(Pointer { place: self.sink.place(line), by: what, function, version });
        }
        Some(TargetPut { version, ..target })
    }

    /// `at`: the line of the trigger, where people look for it.
    fn function_target(&mut self, name: &str, line: u64, at: u64, what: &str, version: Selector) -> Option<TargetPut> {
        let function = self.name(UnitKind::Function, name, line, &format!("{what}: "))?;
        self.refer(UnitKind::Function, name, at, what, "")?;
        Some(TargetPut { function, version })
    }
}
