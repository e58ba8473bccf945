//! `Function`

use std::collections::BTreeSet;

use milepost_model::change::UnitKey;
use milepost_model::unit_put::{FunctionPut, ScalePut, UnitPut, VersionRef};
use milepost_model::{Selector, UnitKind, UnitName, suggest};

use super::super::problems::Sink;
use super::super::yaml::{Fields, Node};
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
const PACKAGE_KEYS: [&str; 2] = ["packageref", "functionName"];
const PACKAGE_REF_KEYS: [&str; 3] = ["name", "namespace", "resourceversion"];
const REF_KEYS: [&str; 2] = ["name", "namespace"];
const RESOURCE_KEYS: [&str; 3] = ["limits", "requests", "claims"];
const STRATEGY_KEYS: [&str; 2] = ["ExecutionStrategy", "StrategyType"];
const EXECUTION_KEYS: [&str; 7] =
    ["ExecutorType", "MinScale", "MaxScale", "TargetCPUPercent", "SpecializationTimeout", "hpaMetrics", "hpaBehavior"];
const EXECUTORS: [&str; 3] = ["poolmgr", "newdeploy", "container"];
/// What is written for everybody who did not think about it, and is more than most plans allow.
const UNASKED_CONCURRENCY: u32 = 500;

impl Reader<'_> {
    pub fn function(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let environment = self.reference(&mut spec, "environment", UnitKind::Environment, &REF_KEYS);
        let (package, entrypoint) = self.package_of(&mut spec);
        if package.is_none() {
            self.lost.packages.push(name.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        let Resources { memory, cpu, lines } = resources(&mut spec);
        let timeout_ms = spec.parsed("functionTimeout", seconds).filter(|ms| *ms > 0);
        let scale = scale(&mut spec, sink);
        let put = FunctionPut {
            package,
            environment,
            entrypoint,
            secrets: self.secrets(&mut spec),
            memory,
            cpu,
            timeout_ms,
            scale: Some(scale).filter(|scale| *scale != ScalePut::default()),
            ..FunctionPut::default()
        };
        let hint =
            "the function does not get them; put what it reads into variables or into the configuration of the app";
        warn_unsupported(&mut spec, &["configmaps"], hint);
        warn_unsupported(&mut spec, &["podspec"], "Milepost runs no containers");
        warn_unsupported(
            &mut spec,
            &["onceOnly", "retainPods"],
            "instances go on to serve, and sleep when they are idle",
        );
        spec.note_rest(&KEYS, "Milepost has nothing for it");
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

    fn package_of(&mut self, spec: &mut Fields<'_>) -> (Option<VersionRef>, Option<String>) {
        let hint = "name one with `package:`, `packageref:` below it, and `name: NAME` below that";
        let given = spec.take_set("package");
        let Some(node) = given else {
            spec.missing("package", hint);
            return (None, None);
        };
        let line = node.line;
        let mut package = Fields::read(spec.sink(), node, line, &spec.of("package"), &PACKAGE_KEYS);
        let entrypoint = package.text("functionName").filter(|name| !name.is_empty());
        let by = spec.what().to_owned();
        let reference = self.reference_by(&mut package, "packageref", UnitKind::Package, &PACKAGE_REF_KEYS, &by, hint);
        (reference, entrypoint)
    }

    fn secrets(&mut self, spec: &mut Fields<'_>) -> BTreeSet<UnitName> {
        let what = spec.of("secrets");
        let mut names = BTreeSet::new();
        for node in spec.list("secrets", "write each as `- name: NAME`") {
            let line = node.line;
            let mut secret = Fields::read(spec.sink(), node, line, &format!("an entry of {what}"), &REF_KEYS);
            self.reference_namespace(&mut secret);
            let Some((name, line)) = secret.need("name", "name the secret with `name: NAME`") else { continue };
            let Some(name) = unit_name(spec.sink(), UnitKind::Secret, &name, line, &format!("{what}: ")) else {
                continue;
            };
            let key = UnitKey { kind: UnitKind::Secret, name: name.clone() };
            self.claims.push(Reference { place: spec.sink().place(line), by: spec.what().to_owned(), key });
            names.insert(name);
        }
        names
    }

    /// `environment: { name, namespace }`, which must be there.
    pub fn reference(
        &mut self,
        spec: &mut Fields<'_>,
        key: &str,
        kind: UnitKind,
        known: &[&str],
    ) -> Option<VersionRef> {
        let by = spec.what().to_owned();
        let hint = format!("name one with `{key}:` and `name: NAME` below it");
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
        let mut inner = Fields::read(spec.sink(), node, line, &what, known);
        self.reference_namespace(&mut inner);
        let (name, line) = inner.need("name", hint)?;
        let name = unit_name(spec.sink(), kind, &name, line, &format!("{what}: "))?;
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
    /// Where they are written, one and the other.
    lines: (u64, u64),
}

/// What is asked for at most, else what is asked for at least.
fn resources(spec: &mut Fields<'_>) -> Resources {
    let Some(node) = spec.take("resources") else { return Resources::default() };
    let line = node.line;
    let mut resources = Fields::read(spec.sink(), node, line, &spec.of("resources"), &RESOURCE_KEYS);
    warn_unsupported(&mut resources, &["claims"], "memory and cpu are what a function can have");
    let mut found = Resources { lines: (line, line), ..Resources::default() };
    for key in ["limits", "requests"] {
        let what = resources.of(key);
        for (resource, node) in resources.map(key) {
            let parsed = |sink: &Sink<'_>, node: Node, key: &str| {
                let line = node.line;
                super::super::yaml::text(sink, node, &format!("`{key}` of {what}")).map(|text| (text, line))
            };
            let told = |line: u64, problem: String| {
                spec.sink().wrong(line, format!("`{}` of {what}: {problem}", resource.text));
            };
            match resource.text.as_str() {
                "memory" => {
                    let Some((text, line)) = parsed(spec.sink(), node, "memory") else { continue };
                    let amount = quantity::bytes(&text).map_err(|problem| told(line, problem)).ok();
                    if let (None, Some(amount)) = (found.memory, amount.filter(|amount| *amount > 0)) {
                        (found.memory, found.lines.0) = (Some(amount), line);
                    }
                }
                "cpu" => {
                    let Some((text, line)) = parsed(spec.sink(), node, "cpu") else { continue };
                    let amount = quantity::millicores(&text).map_err(|problem| told(line, problem)).ok();
                    if let (None, Some(amount)) = (found.cpu, amount.filter(|amount| *amount > 0)) {
                        (found.cpu, found.lines.1) = (Some(amount), line);
                    }
                }
                other => {
                    let near = suggest::closest(other, ["memory", "cpu"]);
                    if near.is_empty() {
                        let message = format!("`{other}` of {what} is not supported, and has no effect");
                        spec.sink().warn_hint(resource.line, message, "memory and cpu are what a function can have");
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

/// A pool has no bounds but `concurrency`; a deployment of its own has its bounds in the strategy.
fn scale(spec: &mut Fields<'_>, sink: &Sink<'_>) -> ScalePut {
    let mut strategy = spec.inner("InvokeStrategy", &STRATEGY_KEYS);
    let mut execution = strategy.inner("ExecutionStrategy", &EXECUTION_KEYS);
    let executor = execution.text_at("ExecutorType").filter(|(executor, _)| !executor.is_empty());
    match &executor {
        Some((executor, line)) if executor == "container" => {
            let message = format!(
                "{} is a container image (`ExecutorType: container`), and Milepost runs no containers",
                spec.what()
            );
            sink.wrong_hint(*line, message, "make a package of its code, and use `poolmgr`");
        }
        Some((executor, line)) if !EXECUTORS.contains(&executor.as_str()) => {
            let near = suggest::closest(executor, EXECUTORS);
            let hint = if near.is_empty() {
                "write `poolmgr` or `newdeploy`".to_owned()
            } else {
                format!("did you mean {}?", suggest::or_list(&near))
            };
            sink.wrong_hint(*line, format!("`{executor}` is not an `ExecutorType`"), hint);
        }
        _ => {}
    }
    let (min, max) = (execution.parsed_at("MinScale", number), execution.parsed_at("MaxScale", number));
    let concurrency = spec.parsed_at("concurrency", number);
    let own = executor.is_some_and(|(executor, _)| executor == "newdeploy");
    // The only one there is.
    drop(strategy.take("StrategyType"));
    execution.note_rest(&EXECUTION_KEYS, "instances are started and stopped by the requests that wait");
    strategy.note_rest(&STRATEGY_KEYS, "instances are started and stopped by the requests that wait");
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
        // A pool does not use them, but somebody meant something by them.
        let message = format!("{}: `scale`: min {least} and max {most} do not fit together", spec.what());
        sink.wrong_hint(spec.line_of("InvokeStrategy"), message, "`MinScale` is at most `MaxScale`");
    }
    ScalePut {
        min: if own { set(min) } else { None },
        max: if own { set(max) } else { set(concurrency).filter(|max| *max != UNASKED_CONCURRENCY) },
        concurrency: set(spec.parsed_at("requestsPerPod", number)),
        idle_ms: spec.parsed("idletimeout", seconds),
    }
}

/// Fields that are known and do nothing here, told when they say something.
pub fn warn_unsupported(fields: &mut Fields<'_>, keys: &[&str], why: &str) {
    for key in keys {
        if let Some(node) = fields.take_set(key) {
            let message = format!("{} is not supported, and has no effect", fields.of(key));
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
