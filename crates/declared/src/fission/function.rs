//! `Function`

use std::collections::BTreeSet;

use milepost_model::change::UnitKey;
use milepost_model::unit_put::{FunctionPut, ScalePut, UnitPut, VersionRef};
use milepost_model::{Selector, UnitKind, UnitName, suggest};
use serde_json::Value;

use super::super::problems::Sink;
use super::super::yaml::{Content, Fields, Key, Node, meant};
use super::super::{Reference, checks};
use super::document::{Object, unit_name};
use super::{Reader, quantity};

pub const KEYS: [&str; 13] = [
    "environment",
    "package",
    "secrets",
    "configmaps",
    "resources",
    "InvokeStrategy",
    "functionTimeout",
    "idletimeout",
    "concurrency",
    "requestsPerPod",
    "onceOnly",
    "retainPods",
    "podspec",
];
pub const PACKAGE_KEYS: [&str; 2] = ["packageref", "functionName"];
pub const PACKAGE_REF_KEYS: [&str; 3] = ["name", "namespace", "resourceversion"];
pub const REF_KEYS: [&str; 2] = ["name", "namespace"];
pub const RESOURCE_KEYS: [&str; 3] = ["limits", "requests", "claims"];
pub const STRATEGY_KEYS: [&str; 2] = ["ExecutionStrategy", "StrategyType"];
pub const EXECUTION_KEYS: [&str; 7] =
    ["ExecutorType", "MinScale", "MaxScale", "TargetCPUPercent", "SpecializationTimeout", "hpaMetrics", "hpaBehavior"];
const EXECUTORS: [&str; 3] = ["poolmgr", "newdeploy", "container"];
/// Fission's default, which is written even if the author did not set it, and exceeds most plans.
const UNASKED_CONCURRENCY: u32 = 500;

impl Reader<'_> {
    pub fn function(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let environment = self.reference(&mut spec, "environment", UnitKind::Environment, &REF_KEYS);
        let (package, entrypoint) = self.package_of(&mut spec, name.as_ref());
        let Resources { memory, cpu, lines } = resources(&mut spec);
        let timeout_ms = spec.parsed("functionTimeout", seconds).filter(|ms| *ms > 0);
        let scale = scale(&mut spec, sink);
        let put = FunctionPut {
            package,
            environment,
            entrypoint,
            secrets: self.secrets(&mut spec),
            configmaps: self.configmaps(&mut spec),
            memory,
            cpu,
            timeout_ms,
            scale: Some(scale).filter(|scale| *scale != ScalePut::default()),
            ..FunctionPut::default()
        };
        warn_unsupported(&mut spec, &["podspec"], "Milepost does not run containers");
        warn_unsupported(
            &mut spec,
            &["onceOnly", "retainPods"],
            "instances serve further requests, and sleep when they are idle",
        );
        spec.note_rest(&KEYS, "Milepost has no equivalent");
        for error in checks::function(&put) {
            let line = match error.field.as_str() {
                "memory" => lines.0,
                "cpu" => lines.1,
                "timeoutMs" => spec.line_of("functionTimeout"),
                "scale" => spec.line_of("InvokeStrategy"),
                "entrypoint" => spec.line_of("package"),
                _ => line,
            };
            sink.wrong(line, format!("{what}: {error}"));
        }
        let Some(name) = name else { return };
        self.add(name, UnitPut::Function(put), Vec::new(), sink.place(line));
    }

    fn package_of(&mut self, spec: &mut Fields<'_>, name: Option<&UnitName>) -> (Option<VersionRef>, Option<String>) {
        let hint = "add `package: { packageref: { name: NAME } }`";
        let lost = || name.map(ToString::to_string).unwrap_or_default();
        let given = spec.take_set("package");
        let Some(node) = given else {
            // An unreadable value may refer to a package. A missing one does not.
            self.lost.packages.extend(spec.is_unreadable("package").then(lost));
            spec.missing("package", hint);
            return (None, None);
        };
        let line = node.line;
        let node = with_packageref(spec, node);
        let mut package = Fields::read(spec.sink(), node, line, &spec.of("package"), &PACKAGE_KEYS);
        let entrypoint = package.text("functionName").filter(|name| !name.is_empty());
        let by = spec.what().to_owned();
        let named = self.reference_by(&mut package, "packageref", UnitKind::Package, &PACKAGE_REF_KEYS, &by, hint);
        self.lost.packages.extend((named.is_none() && package.is_unreadable("packageref")).then(lost));
        (named, entrypoint)
    }

    /// Configmaps are keys of the app's configuration. A missing key is only found when the
    /// function is loaded.
    fn configmaps(&mut self, spec: &mut Fields<'_>) -> BTreeSet<UnitName> {
        let mut names = BTreeSet::new();
        for (name, line) in self.named(spec, "configmaps", "add the name of the configmap with `name: NAME`") {
            match checks::configmap(&name) {
                Ok(name) => drop(names.insert(name)),
                Err(error) => spec.sink().wrong(line, format!("{}: {error}", spec.of("configmaps"))),
            }
        }
        names
    }

    /// A list of maps with `name` and `namespace`. Returns the names, each with its line.
    fn named(&mut self, spec: &mut Fields<'_>, key: &str, hint: &str) -> Vec<(String, u64)> {
        let what = spec.of(key);
        let entries = spec.list(key, "write each as `- name: NAME`");
        let is_reported = spec.is_unreadable(key);
        let mut names = Vec::new();
        for node in entries {
            let line = node.line;
            let is_text = matches!(node.content, Content::Scalar(..));
            let node = if is_reported && is_text { under("name", node) } else { node };
            let what = format!("an entry of {what}");
            let mut entry = Fields::short(spec.sink(), node, line, &what, &REF_KEYS, "name");
            self.reference_namespace(&mut entry);
            names.extend(entry.need("name", hint));
        }
        names
    }

    fn secrets(&mut self, spec: &mut Fields<'_>) -> BTreeSet<UnitName> {
        let mut names = BTreeSet::new();
        for (name, line) in self.named(spec, "secrets", "add the name of the secret with `name: NAME`") {
            let before = format!("{}: ", spec.of("secrets"));
            let Some(name) = unit_name(spec.sink(), UnitKind::Secret, &name, line, &before) else {
                continue;
            };
            let key = UnitKey { kind: UnitKind::Secret, name: name.clone() };
            self.claims.push(Reference { place: spec.sink().place(line), by: spec.what().to_owned(), key });
            names.insert(name);
        }
        names
    }

    /// A required reference such as `environment: { name, namespace }`.
    pub fn reference(
        &mut self,
        spec: &mut Fields<'_>,
        key: &str,
        kind: UnitKind,
        known: &[&str],
    ) -> Option<VersionRef> {
        let by = spec.what().to_owned();
        let hint = format!("add `{key}: {{ name: NAME }}`");
        self.reference_by(spec, key, kind, known, &by, &hint)
    }

    fn reference_by(
        &mut self,
        spec: &mut Fields<'_>,
        key: &str,
        kind: UnitKind,
        known: &[&str],
        by: &str,
        hint: &str,
    ) -> Option<VersionRef> {
        let Some(node) = spec.take_set(key) else {
            spec.missing(key, hint);
            return None;
        };
        let line = node.line;
        let what = spec.of(key);
        let mut inner = Fields::short(spec.sink(), node, line, &what, known, "name");
        self.reference_namespace(&mut inner);
        if let Some(node) = inner.take_set("resourceversion") {
            let message = format!("`resourceversion` of {what} is not carried over");
            spec.sink().note(node.line, message, "a function uses the version of its package from the same change");
        }
        let Some((text, line)) = inner.need("name", hint) else {
            if inner.is_unreadable("name") {
                spec.spoil(key);
            }
            return None;
        };
        let Some(name) = unit_name(spec.sink(), kind, &text, line, &format!("{what}: ")) else {
            self.lost.misnamed.extend((kind == UnitKind::Package).then_some(text));
            return None;
        };
        self.refer(kind, &name, by, spec.sink().place(line));
        Some(VersionRef { name, version: Selector::Latest })
    }

    fn reference_namespace(&mut self, fields: &mut Fields<'_>) {
        if let Some((namespace, line)) = fields.text_at("namespace") {
            let what = fields.what().to_owned();
            self.namespace(fields.sink(), &namespace, line, Some(&what));
        }
    }
}

#[derive(Debug, Default)]
struct Resources {
    memory: Option<u64>,
    cpu: Option<u32>,
    /// The lines of `memory` and `cpu`.
    lines: (u64, u64),
}

/// Accepts the shorthands for `packageref` with a nested `name`: only the name, or `name` without
/// `packageref`. Reports them, and reads them as what they mean.
fn with_packageref(spec: &Fields<'_>, node: Node) -> Node {
    let what = spec.of("package");
    let line = node.line;
    let form = |name: &str| format!("write `package: {{ packageref: {{ name: {name} }} }}`");
    match node.content {
        Content::Scalar(Value::String(_), name) => {
            spec.sink().wrong_hint(line, format!("{what} must be a map, not a string"), form(&name));
            let name = Node { line, content: Content::Scalar(name.clone().into(), name) };
            under("packageref", under("name", name))
        }
        Content::Map(mut entries) => {
            let has = |wanted: &str| entries.iter().position(|(key, _)| key.text.eq_ignore_ascii_case(wanted));
            if let (Some(at), None) = (has("name"), has("packageref")) {
                let name = meant(&entries[at].1).unwrap_or("NAME").to_owned();
                let line = entries[at].0.line;
                spec.sink().wrong_hint(line, format!("{what} must have its `name` under `packageref`"), form(&name));
                let (inner, mut outer): (Vec<_>, Vec<_>) = entries
                    .into_iter()
                    .partition(|(key, _)| PACKAGE_REF_KEYS.iter().any(|known| known.eq_ignore_ascii_case(&key.text)));
                let inner = Node { line, content: Content::Map(inner) };
                outer.push((Key { line, text: "packageref".to_owned() }, inner));
                entries = outer;
            }
            Node { line, content: Content::Map(entries) }
        }
        content => Node { line, content },
    }
}

fn under(key: &str, node: Node) -> Node {
    let line = node.line;
    Node { line, content: Content::Map(vec![(Key { line, text: key.to_owned() }, node)]) }
}

/// Uses the limits, else the requests.
fn resources(spec: &mut Fields<'_>) -> Resources {
    let Some(node) = spec.take("resources") else { return Resources::default() };
    let line = node.line;
    let mut resources = Fields::read(spec.sink(), node, line, &spec.of("resources"), &RESOURCE_KEYS);
    warn_unsupported(&mut resources, &["claims"], "a function can only set memory and cpu");
    let mut found = Resources { lines: (line, line), ..Resources::default() };
    for key in ["limits", "requests"] {
        let what = resources.of(key);
        for (resource, node) in resources.values(key, "write each as `memory: 128Mi`") {
            let parsed = |sink: &Sink<'_>, node: Node, key: &str| {
                let line = node.line;
                super::super::yaml::text(sink, node, &format!("`{key}` of {what}")).map(|text| (text, line))
            };
            let report = |line: u64, problem: String| {
                spec.sink().wrong(line, format!("`{}` of {what}: {problem}", resource.text));
            };
            let not_used = |line: u64, key: &str| {
                let hint = "a function has one value for each, and the limit is used";
                spec.sink().note(line, format!("`{key}` of {what} is not carried over"), hint);
            };
            match resource.text.as_str() {
                "memory" => {
                    let Some((text, line)) = parsed(spec.sink(), node, "memory") else { continue };
                    let amount = quantity::bytes(&text).map_err(|problem| report(line, problem)).ok();
                    match (found.memory, amount.filter(|amount| *amount > 0)) {
                        (None, Some(amount)) => (found.memory, found.lines.0) = (Some(amount), line),
                        (Some(most), Some(amount)) if most != amount => not_used(line, "memory"),
                        _ => {}
                    }
                }
                "cpu" => {
                    let Some((text, line)) = parsed(spec.sink(), node, "cpu") else { continue };
                    let amount = quantity::millicores(&text).map_err(|problem| report(line, problem)).ok();
                    match (found.cpu, amount.filter(|amount| *amount > 0)) {
                        (None, Some(amount)) => (found.cpu, found.lines.1) = (Some(amount), line),
                        (Some(most), Some(amount)) if most != amount => not_used(line, "cpu"),
                        _ => {}
                    }
                }
                other => {
                    let near = suggest::closest(other, ["memory", "cpu"]);
                    if near.is_empty() {
                        let message = format!("`{other}` of {what} is not supported and has no effect");
                        spec.sink().warn_hint(resource.line, message, "a function can only set memory and cpu");
                    } else {
                        let message = format!("unknown key `{other}` in {what}");
                        let hint = format!("did you mean {}?", suggest::or_list(&near));
                        spec.sink().wrong_hint(resource.line, message, hint);
                    }
                }
            }
        }
    }
    found
}

/// With `poolmgr` only `concurrency` is a bound. With `newdeploy` the strategy has the bounds.
fn scale(spec: &mut Fields<'_>, sink: &Sink<'_>) -> ScalePut {
    let mut strategy = spec.inner("InvokeStrategy", &STRATEGY_KEYS);
    let mut execution = strategy.inner("ExecutionStrategy", &EXECUTION_KEYS);
    let executor = execution.text_at("ExecutorType").filter(|(executor, _)| !executor.is_empty());
    match &executor {
        Some((executor, line)) if executor == "container" => {
            let message = format!(
                "{} is a container image (`ExecutorType: container`), and Milepost does not run containers",
                spec.what()
            );
            sink.wrong_hint(*line, message, "put its code in a package, and use `poolmgr`");
        }
        Some((executor, line)) if !EXECUTORS.contains(&executor.as_str()) => {
            let near = suggest::closest(executor, EXECUTORS);
            let hint = if near.is_empty() {
                "use `poolmgr` or `newdeploy`".to_owned()
            } else {
                format!("did you mean {}?", suggest::or_list(&near))
            };
            sink.wrong_hint(*line, format!("unknown `ExecutorType` `{executor}`"), hint);
        }
        _ => {}
    }
    let (min, max) = (execution.parsed_at("MinScale", number), execution.parsed_at("MaxScale", number));
    let concurrency = spec.parsed_at("concurrency", number);
    let own = executor.is_some_and(|(executor, _)| executor == "newdeploy");
    // `execution` is the only type; any other value is only noted.
    if let Some(kind) = strategy.take("StrategyType").filter(|kind| meant(kind) != Some("execution")) {
        let message = format!("`StrategyType` of `InvokeStrategy` of {} is not carried over", spec.what());
        if kind.says_something() {
            sink.note(kind.line, message, "`execution` is the only type");
        }
    }
    execution.note_rest(&EXECUTION_KEYS, "Milepost scales instances by the number of waiting requests");
    strategy.note_rest(&STRATEGY_KEYS, "Milepost scales instances by the number of waiting requests");
    let without_use = if own { vec![("concurrency", concurrency)] } else { vec![("MinScale", min), ("MaxScale", max)] };
    for (key, (value, line)) in without_use.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        if value > 0 && value != UNASKED_CONCURRENCY {
            let executor = if own { "newdeploy" } else { "poolmgr" };
            let message = format!("`{key}` of {} is not carried over", spec.what());
            sink.note(line, message, format!("it has no effect with `{executor}`"));
        }
    }
    let set = |value: Option<(u32, u64)>| value.map(|(value, _)| value).filter(|value| *value > 0);
    if let (false, Some(least), Some(most)) = (own, set(min), set(max))
        && least > most
    {
        // `poolmgr` does not use these values, but they show a mistake.
        let message = format!("{}: `scale`: min {least} and max {most}: max must not be below min", spec.what());
        sink.wrong_hint(spec.line_of("InvokeStrategy"), message, "set `MinScale` to at most `MaxScale`");
    }
    ScalePut {
        min: if own { set(min) } else { None },
        max: if own { set(max) } else { set(concurrency).filter(|max| *max != UNASKED_CONCURRENCY) },
        concurrency: set(spec.parsed_at("requestsPerPod", number)),
        idle_ms: spec.parsed("idletimeout", seconds),
    }
}

/// Warns about known fields that have a value but no effect.
pub fn warn_unsupported(fields: &mut Fields<'_>, keys: &[&str], why: &str) {
    for key in keys {
        if let Some(node) = fields.take_set(key) {
            let message = format!("{} is not supported and has no effect", fields.of(key));
            fields.sink().warn_hint(node.line, message, why);
        }
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    let seconds: u64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Ok(seconds.saturating_mul(1000))
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}
