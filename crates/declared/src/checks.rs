//! The server's rules for one unit, checked one field at a time, so that a unit with two mistakes
//! gets both errors, each on its own line.

use std::collections::BTreeSet;

use milepost_model::route_path::Overlaps;
use milepost_model::schedule::Schedule;
use milepost_model::spec::{Pin, StaticSpec};
use milepost_model::unit_put::{FunctionPut, RoutePut, ScalePut, SpecError, TargetPut, UnitPut, check_static};
use milepost_model::{Digest, Selector, UnitKind, UnitName};

use super::DeclaredUnit;
use super::problems::Problems;

/// A valid schedule, for validating a time zone alone.
const ANY_CRON: &str = "0 0 * * *";

/// Errors in the limits and the entrypoint of a function.
pub fn function(put: &FunctionPut) -> Vec<SpecError> {
    let none = FunctionPut::default;
    let scale = put.scale.clone().unwrap_or_default();
    let bounds = ScalePut { min: scale.min, max: scale.max, ..ScalePut::default() };
    let share = ScalePut { concurrency: scale.concurrency, ..ScalePut::default() };
    let parts = [
        FunctionPut { memory: put.memory, ..none() },
        FunctionPut { cpu: put.cpu, ..none() },
        FunctionPut { timeout_ms: put.timeout_ms, ..none() },
        FunctionPut { scale: Some(bounds), ..none() },
        FunctionPut { scale: Some(share), ..none() },
        FunctionPut { entrypoint: put.entrypoint.clone(), ..none() },
    ];
    parts.iter().filter_map(resolved).collect()
}

/// The spec that the server makes of a valid function.
#[cfg(test)]
pub fn spec_of(put: &FunctionPut) -> milepost_model::spec::FunctionSpec {
    let pin = Pin { name: UnitName::config(), number: None, digest: Digest::of(b"") };
    put.resolve(None, pin.clone(), pin).expect("a valid function")
}

/// Whether an environment variable can have this name.
pub fn variable(name: &str) -> Option<SpecError> {
    let variables = [(name.to_owned(), Some(String::new()))].into();
    resolved(&FunctionPut { variables, ..FunctionPut::default() })
}

/// A key of the app's configuration that a function gets as files.
pub fn configmap(name: &str) -> Result<UnitName, String> {
    UnitName::for_kind(UnitKind::Package, name)
        .map_err(|error| format!("`{name}` is not a valid configmap name: {}", error.rule))
}

fn resolved(put: &FunctionPut) -> Option<SpecError> {
    let pin = Pin { name: UnitName::config(), number: None, digest: Digest::of(b"") };
    put.resolve(None, pin.clone(), pin).err()
}

pub fn method(method: &str) -> Option<SpecError> {
    route([method.to_owned()].into(), "/")
}

pub fn path(path: &str) -> Option<SpecError> {
    route(BTreeSet::new(), path)
}

fn route(methods: BTreeSet<String>, path: &str) -> Option<SpecError> {
    let target = TargetPut { function: UnitName::config(), version: Selector::Latest };
    let (path, host) = (path.to_owned(), String::new());
    RoutePut { methods, path, prefix: false, strip: false, fission: false, host, target }.resolve(None).err()
}

/// Whether the prefix of a route can be stripped. The path must be valid.
pub fn strip(path: &str, prefix: bool) -> Option<SpecError> {
    let target = TargetPut { function: UnitName::config(), version: Selector::Latest };
    let (methods, path, host) = (BTreeSet::new(), path.to_owned(), String::new());
    RoutePut { methods, path, prefix, strip: true, fission: false, host, target }.resolve(None).err()
}

/// Reports each route that matches the same requests as an earlier one. Duplicate names are
/// reported elsewhere. `called` is the word for a route in the messages.
pub fn answered_twice(problems: &Problems, units: &[DeclaredUnit], called: &str) {
    let mut known = Overlaps::default();
    for unit in units {
        let UnitPut::Route(route) = &unit.put.unit else { continue };
        if let Some(other) = known.add(route.answered(), unit).filter(|other| other.put.name != unit.put.name) {
            let (name, first, place) = (&unit.put.name, &other.put.name, &other.place);
            let message = format!("{called} `{name}` matches the same requests as {called} `{first}`, at {place}");
            let hint = "keep one of them, or change the path, method or host of one";
            problems.error(unit.place.clone(), message, Some(hint.to_owned()));
        }
    }
}

pub fn cron(cron: &str) -> Option<SpecError> {
    Schedule::parse(cron, "").err()
}

pub fn zone(zone: &str) -> Option<SpecError> {
    Schedule::parse(ANY_CRON, zone).err()
}

/// Errors in the path of a static item, and in the files that it refers to.
pub fn static_item(spec: &StaticSpec) -> Vec<SpecError> {
    let plain = StaticSpec {
        path: "/".to_owned(),
        tree: spec.tree,
        file: spec.file,
        index: "index.html".to_owned(),
        fallback: None,
        error_page: None,
        clean: false,
        expires_ms: None,
    };
    let parts = [
        StaticSpec { path: spec.path.clone(), ..plain.clone() },
        StaticSpec { index: spec.index.clone(), ..plain.clone() },
        StaticSpec { fallback: spec.fallback.clone(), ..plain.clone() },
        StaticSpec { error_page: spec.error_page.clone(), ..plain.clone() },
        StaticSpec { clean: spec.clean, ..plain.clone() },
        StaticSpec { expires_ms: spec.expires_ms, ..plain },
    ];
    parts.iter().filter_map(|part| check_static(part).err()).collect()
}
