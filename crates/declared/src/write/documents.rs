//! Writes units as `fission.io/v1` documents, as `create --spec` does. `declared/fission` reads
//! them.

use milepost_model::spec::{EnvironmentSpec, Runtime, STDIO};
use milepost_model::unit_put::{FunctionPut, PackagePut, Put, RoutePut, TargetPut, TimerPut, UnitPut, VersionRef};
use milepost_model::{Selector, UnitKind, UnitName};

use super::yaml::{Entry, Yaml, entry};
use crate::values as amounts;

/// Fission's default concurrency, which readers treat as not set.
const FISSION_CONCURRENCY: u32 = 500;
const MS: u64 = 1000;

/// The files of a package, as patterns relative to the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archives {
    pub source: Option<String>,
    pub deployment: Option<String>,
}

/// The documents of one unit, and the settings that Fission documents cannot express.
#[derive(Debug, Default)]
pub struct Documents {
    pub documents: Vec<Yaml>,
    pub inexpressible: Vec<String>,
}

impl Documents {
    /// Adds the documents of the unit, archives first.
    pub fn add(&mut self, put: &Put, archives: &Archives) {
        for (given, what) in [
            (put.label.is_some(), "a label"),
            (put.description.is_some(), "a description"),
            (put.group.is_some(), "a group"),
        ] {
            self.lacks(given, what);
        }
        let name = put.name.as_str();
        match &put.unit {
            UnitPut::Function(function) => self.function(name, function),
            UnitPut::Package(package) => self.package(name, package, archives),
            UnitPut::Environment(environment) => self.environment(name, environment),
            UnitPut::Route(route) => self.route(name, route),
            UnitPut::Timer(timer) => self.timer(name, timer),
            UnitPut::Config(_) | UnitPut::Static(_) | UnitPut::Secret(_) => {
                self.lacks(true, &format!("a unit of kind `{}`", put.unit.kind()));
            }
        }
    }

    fn lacks(&mut self, given: bool, what: &str) {
        if given {
            self.inexpressible.push(what.to_owned());
        }
    }

    fn object(&mut self, kind: &str, name: &str, spec: Vec<Entry>) {
        self.documents.push(Yaml::Map(vec![
            entry("apiVersion", Yaml::text("fission.io/v1")),
            entry("kind", Yaml::text(kind)),
            entry("metadata", Yaml::Map(vec![entry("name", Yaml::text(name))])),
            entry("spec", Yaml::Map(spec)),
        ]));
    }

    fn function(&mut self, name: &str, put: &FunctionPut) {
        self.lacks(!put.variables.is_empty(), "environment variables");
        self.lacks(put.permission.is_some(), "a permission");
        let mut spec = Vec::new();
        self.reference(&mut spec, "environment", put.environment.as_ref());
        if let Some(package) = &put.package {
            self.lacks(package.version != Selector::Latest, "a version of the package");
            let mut of_package =
                vec![entry("packageref", Yaml::Map(vec![entry("name", Yaml::text(package.name.as_str()))]))];
            of_package.extend(put.entrypoint.as_ref().map(|entrypoint| entry("functionName", Yaml::text(entrypoint))));
            spec.push(entry("package", Yaml::Map(of_package)));
        }
        for (key, names) in [("secrets", &put.secrets), ("configmaps", &put.configmaps)] {
            if !names.is_empty() {
                let named = |name: &UnitName| Yaml::Map(vec![entry("name", Yaml::text(name.as_str()))]);
                spec.push(entry(key, Yaml::List(names.iter().map(named).collect())));
            }
        }
        let mut limits = Vec::new();
        limits.extend(put.memory.map(|bytes| entry("memory", Yaml::text(quantity(bytes)))));
        limits.extend(put.cpu.map(|cpu| entry("cpu", Yaml::text(format!("{cpu}m")))));
        if !limits.is_empty() {
            spec.push(entry("resources", Yaml::Map(vec![entry("limits", Yaml::Map(limits))])));
        }
        if let Some(ms) = put.timeout_ms {
            self.lacks(ms % MS != 0, "a timeout that is not whole seconds");
            spec.push(entry("functionTimeout", number(ms / MS)));
        }
        self.scale(&mut spec, put);
        self.object("Function", name, spec);
    }

    fn scale(&mut self, spec: &mut Vec<Entry>, put: &FunctionPut) {
        let Some(scale) = &put.scale else { return };
        // Only `newdeploy` has a minimum number of instances. The bound of `poolmgr` is
        // `concurrency`.
        if scale.min.is_some() || scale.max == Some(FISSION_CONCURRENCY) {
            let mut execution = vec![entry("ExecutorType", Yaml::text("newdeploy"))];
            execution.extend(scale.min.map(|min| entry("MinScale", number(min))));
            execution.extend(scale.max.map(|max| entry("MaxScale", number(max))));
            let strategy =
                vec![entry("ExecutionStrategy", Yaml::Map(execution)), entry("StrategyType", Yaml::text("execution"))];
            spec.push(entry("InvokeStrategy", Yaml::Map(strategy)));
        } else {
            spec.extend(scale.max.map(|max| entry("concurrency", number(max))));
        }
        spec.extend(scale.concurrency.map(|calls| entry("requestsPerPod", number(calls))));
        if let Some(ms) = scale.idle_ms {
            self.lacks(ms % MS != 0, "an idle time that is not whole seconds");
            spec.push(entry("idletimeout", number(ms / MS)));
        }
    }

    fn package(&mut self, name: &str, put: &PackagePut, archives: &Archives) {
        let mut spec = Vec::new();
        self.reference(&mut spec, "environment", put.environment.as_ref());
        for (slot, pattern) in [("source", &archives.source), ("deployment", &archives.deployment)] {
            let Some(pattern) = pattern else { continue };
            let archive = format!("{name}-{slot}");
            self.documents.push(Yaml::Map(vec![
                entry("kind", Yaml::text("ArchiveUploadSpec")),
                entry("name", Yaml::text(&archive)),
                entry("include", Yaml::List(vec![Yaml::text(pattern)])),
            ]));
            let of_archive =
                vec![entry("type", Yaml::text("url")), entry("url", Yaml::text(format!("archive://{archive}")))];
            spec.push(entry(slot, Yaml::Map(of_archive)));
        }
        spec.extend(put.build_command.as_ref().map(|command| entry("buildcmd", Yaml::text(command))));
        self.object("Package", name, spec);
    }

    fn environment(&mut self, name: &str, put: &EnvironmentSpec) {
        let image = match put.runtime {
            Runtime::Python => "fission/python-env",
            Runtime::Node => "fission/node-env",
            Runtime::Binary => "fission/binary-env",
            Runtime::Wasm => {
                self.lacks(true, "the runtime `wasm`");
                return;
            }
        };
        // Fission's `binary-env` runs a program once for each request, and is read like this.
        let is_stdio = put.runtime == Runtime::Binary && put.interpreter == STDIO;
        self.lacks(put.runtime == Runtime::Binary && !is_stdio, "a binary that serves HTTP itself");
        self.lacks(put.runtime != Runtime::Binary && !put.interpreter.is_empty(), "an interpreter version");
        let mut spec = vec![entry("version", number(3u32))];
        let mut runtime = vec![entry("image", Yaml::text(image))];
        if !put.variables.is_empty() {
            let pair = |(name, value): (&String, &String)| {
                Yaml::Map(vec![entry("name", Yaml::text(name)), entry("value", Yaml::text(value))])
            };
            let variables = Yaml::List(put.variables.iter().map(pair).collect());
            runtime.push(entry("container", Yaml::Map(vec![entry("env", variables)])));
        }
        spec.push(entry("runtime", Yaml::Map(runtime)));
        if !put.builder.is_empty() {
            spec.push(entry("builder", Yaml::Map(vec![entry("command", Yaml::text(&put.builder))])));
        }
        self.object("Environment", name, spec);
    }

    fn route(&mut self, name: &str, put: &RoutePut) {
        let mut spec = vec![entry(if put.prefix { "prefix" } else { "relativeurl" }, Yaml::text(&put.path))];
        if put.prefix && !put.strip {
            spec.push(entry("keepPrefix", Yaml::Bare("true".to_owned())));
        }
        spec.push(entry("methods", Yaml::texts(put.methods.iter().map(String::as_str))));
        if !put.host.is_empty() {
            spec.push(entry("host", Yaml::text(&put.host)));
        }
        spec.push(self.target(&put.target));
        // Kubernetes does not allow spaces and slashes in object names.
        self.object("HTTPTrigger", &object_name(name), spec);
    }

    fn timer(&mut self, name: &str, put: &TimerPut) {
        self.lacks(!put.zone.is_empty(), "a time zone");
        let spec = vec![entry("cron", Yaml::text(&put.cron)), self.target(&put.target)];
        self.object("TimeTrigger", name, spec);
    }

    fn target(&mut self, target: &TargetPut) -> Entry {
        let mut reference =
            vec![entry("type", Yaml::text("name")), entry("name", Yaml::text(target.function.as_str()))];
        match &target.version {
            Selector::Latest => {}
            Selector::Alias(alias) => reference.push(entry("alias", Yaml::text(alias.as_str()))),
            other => reference.push(entry("version", Yaml::text(other.to_string()))),
        }
        entry("functionref", Yaml::Map(reference))
    }

    fn reference(&mut self, spec: &mut Vec<Entry>, key: &str, to: Option<&VersionRef>) {
        let Some(to) = to else { return };
        self.lacks(to.version != Selector::Latest, &format!("a version of the {key}"));
        spec.push(entry(key, Yaml::Map(vec![entry("name", Yaml::text(to.name.as_str()))])));
    }

    /// The text of the file, with a `---` before each document.
    pub fn text(&self) -> String {
        self.documents.iter().map(|document| format!("---\n{}", document.document())).collect()
    }
}

/// The file name for the documents of a unit, as Fission chooses it.
pub fn file_name(kind: UnitKind, name: &str) -> String {
    let prefix = match kind {
        UnitKind::Environment => "env",
        UnitKind::Timer => "timetrigger",
        other => other.as_str(),
    };
    format!("{prefix}-{}.yaml", object_name(name))
}

/// A valid object name: `get-orders-id` for `GET /orders/{id}`.
pub fn object_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { ' ' })
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join("-")
}

fn quantity(bytes: u64) -> String {
    // Kubernetes has no unit for plain bytes.
    amounts::memory(bytes).trim_end_matches('B').to_owned()
}

fn number(value: impl Into<u64>) -> Yaml {
    Yaml::Bare(value.into().to_string())
}
