//! Writes functions, with their own packages.

use milepost_model::Selector;
use milepost_model::spec::FunctionPermission;
use milepost_model::unit_put::{FunctionPut, PackagePut, ScalePut};

use super::outline::{OutlineUnit, Unsaid, build, patterns};
use super::yaml::{Entry, Yaml, entry};
use crate::values as amounts;

pub fn function(
    put: &FunctionPut,
    unit: &OutlineUnit,
    own: Option<(&OutlineUnit, &PackagePut)>,
    unsaid: &mut Vec<Unsaid>,
) -> Yaml {
    let mut entries = Vec::new();
    let mut lacks = |message: String| unsaid.push(Unsaid { key: unit.key(), message });
    let environment = put.environment.as_ref().or(own.and_then(|(_, package)| package.environment.as_ref()));
    if let Some(environment) = environment {
        if environment.version != Selector::Latest {
            lacks(format!("it uses version {} of environment `{}`", environment.version, environment.name));
        }
        entries.push(entry("env", Yaml::text(environment.name.as_str())));
    }
    match (own, &put.package) {
        (Some((package, _)), _) => {
            if let Some((_, files)) = package.files.first() {
                entries.push(entry("src", Yaml::text(&files.path)));
                patterns(&mut entries, files);
            }
        }
        (None, Some(package)) => {
            if package.version != Selector::Latest {
                lacks(format!("it uses version {} of package `{}`", package.version, package.name));
            }
            entries.push(entry("package", Yaml::text(package.name.as_str())));
        }
        (None, None) => lacks("it has no package".to_owned()),
    }
    entries.extend(put.entrypoint.as_ref().map(|entrypoint| entry("entrypoint", Yaml::text(entrypoint))));
    entries.extend(own.and_then(|(unit, package)| build(package, unit)));
    let variables: Vec<Entry> =
        put.variables.iter().filter_map(|(name, value)| Some(entry(name, Yaml::text(value.as_ref()?)))).collect();
    if !variables.is_empty() {
        entries.push(entry("vars", Yaml::Map(variables).short()));
    }
    if !put.secrets.is_empty() {
        entries.push(entry("secrets", Yaml::texts(put.secrets.iter().map(|name| name.as_str()))));
    }
    if !put.configmaps.is_empty() {
        entries.push(entry("configmaps", Yaml::texts(put.configmaps.iter().map(|name| name.as_str()))));
    }
    entries.extend(put.permission.map(|permission| entry("permission", Yaml::text(permission_name(permission)))));
    entries.extend(put.memory.map(|bytes| entry("memory", Yaml::text(amounts::memory(bytes)))));
    entries.extend(put.cpu.map(|cpu| entry("cpu", Yaml::Bare(cpu.to_string()))));
    entries.extend(put.timeout_ms.map(|ms| entry("timeout", Yaml::text(amounts::duration(ms)))));
    entries.extend(put.scale.as_ref().map(|put| entry("scale", scale(put))));
    entries.extend(unit.put.description.as_ref().map(|text| entry("description", Yaml::text(text))));
    Yaml::Map(entries)
}

fn scale(put: &ScalePut) -> Yaml {
    let numbers = [("min", put.min), ("max", put.max), ("concurrency", put.concurrency)];
    let numbers = numbers.into_iter().filter_map(|(key, value)| Some(entry(key, Yaml::Bare(value?.to_string()))));
    let idle = put.idle_ms.map(|ms| entry("idle", Yaml::text(amounts::duration(ms))));
    Yaml::Map(numbers.chain(idle).collect()).short()
}

fn permission_name(permission: FunctionPermission) -> &'static str {
    match permission {
        FunctionPermission::Public => "public",
        FunctionPermission::Token => "token",
        FunctionPermission::Internal => "internal",
    }
}
