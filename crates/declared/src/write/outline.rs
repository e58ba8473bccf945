//! The content of a manifest, and its YAML in the order of `docs/deploy.md`.

use milepost_model::change::{Deployment, UnitKey};
use milepost_model::spec::{DEFAULT_INDEX, EnvironmentSpec, StaticSpec};
use milepost_model::unit_put::{PackagePut, Put, UnitPut};
use milepost_model::{AppName, Selector, UnitName};

use crate::values as amounts;

use super::super::TreeSlot;
use super::super::manifest::FILE_NAME;
use super::yaml::{Entry, Yaml, comment, entry};

/// The content of a manifest.
#[derive(Debug, Default)]
pub struct Outline {
    /// Lines of a comment at the start.
    pub heading: Vec<String>,
    pub app: Option<AppName>,
    pub deployment: Option<Deployment>,
    pub units: Vec<OutlineUnit>,
    /// Secrets that no function uses. Those of functions are written there.
    pub secrets: Vec<UnitName>,
}

/// A unit, and the paths of its files.
#[derive(Debug)]
pub struct OutlineUnit {
    pub put: Put,
    pub files: Vec<(TreeSlot, Files)>,
}

/// Files as declared in a manifest, relative to its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    pub path: String,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

/// A property of a unit that a manifest cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsaid {
    pub key: UnitKey,
    pub message: String,
}

impl OutlineUnit {
    pub fn key(&self) -> UnitKey {
        UnitKey { kind: self.put.unit.kind(), name: self.put.name.clone() }
    }
}

/// The YAML so far, by kind.
#[derive(Default)]
pub(super) struct Sections {
    config: Option<Yaml>,
    environments: Vec<Entry>,
    packages: Vec<Entry>,
    functions: Vec<Entry>,
    statics: Vec<Yaml>,
    pub(super) routes: Vec<Yaml>,
    pub(super) timers: Vec<Entry>,
    pub(super) unsaid: Vec<Unsaid>,
}

impl Outline {
    /// Returns the text of the manifest, and what it cannot express.
    pub fn write(&self) -> (String, Vec<Unsaid>) {
        let mut sections = Sections::default();
        for unit in &self.units {
            self.unit(&mut sections, unit);
        }
        let mut text: String = self.heading.iter().map(|line| format!("{}\n", comment(line))).collect();
        text.push_str(&Yaml::Map(self.entries(&mut sections)).document());
        (text, sections.unsaid)
    }

    fn entries(&self, sections: &mut Sections) -> Vec<Entry> {
        let mut entries = Vec::new();
        entries.extend(self.app.as_ref().map(|app| entry("app", Yaml::text(app.as_str()))));
        entries.extend(self.deployment.as_ref().and_then(deployment));
        let mut map = |key: &str, found: &mut Vec<Entry>| {
            if !found.is_empty() {
                entries.push(entry(key, Yaml::Map(std::mem::take(found))));
            }
        };
        map("environments", &mut sections.environments);
        map("packages", &mut sections.packages);
        map("functions", &mut sections.functions);
        if !self.secrets.is_empty() {
            entries.push(entry("secrets", Yaml::texts(self.secrets.iter().map(UnitName::as_str))));
        }
        entries.extend(sections.config.take().map(|config| entry("config", config)));
        for (key, found) in [("static", &mut sections.statics), ("routes", &mut sections.routes)] {
            if !found.is_empty() {
                entries.push(entry(key, Yaml::List(std::mem::take(found))));
            }
        }
        if !sections.timers.is_empty() {
            entries.push(entry("timers", Yaml::Map(std::mem::take(&mut sections.timers))));
        }
        // An empty document would not be a valid manifest.
        if entries.is_empty() {
            entries.push(entry("functions", Yaml::Map(Vec::new())));
        }
        entries
    }

    fn unit(&self, sections: &mut Sections, unit: &OutlineUnit) {
        let name = unit.put.name.as_str();
        match &unit.put.unit {
            UnitPut::Environment(spec) => sections.environments.push(entry(name, environment(spec))),
            // The value never leaves the server, and the name is written where it is used.
            UnitPut::Secret(_) => {}
            UnitPut::Config(config) => sections.config = config.document.as_ref().map(Yaml::from_json),
            UnitPut::Package(put) => {
                if self.inlined(unit) {
                    return;
                }
                let package = package(put, unit, &mut sections.unsaid);
                sections.packages.push(entry(name, package));
            }
            UnitPut::Function(put) => {
                let own = self.own_package(&unit.put.name, put);
                let function = super::functions::function(put, unit, own, &mut sections.unsaid);
                sections.functions.push(entry(name, function));
            }
            UnitPut::Static(spec) => {
                let item = static_item(spec, unit, &mut sections.unsaid);
                sections.statics.push(item);
            }
            UnitPut::Route(put) => sections.route(put, unit),
            UnitPut::Timer(put) => sections.timer(put, unit),
        }
    }

    /// Whether a package is written as part of the only function that uses it.
    fn inlined(&self, package: &OutlineUnit) -> bool {
        self.units.iter().any(|unit| match &unit.put.unit {
            UnitPut::Function(put) => {
                self.own_package(&unit.put.name, put).is_some_and(|(own, _)| own.put.name == package.put.name)
            }
            _ => false,
        })
    }

    /// The package of a function, if the manifest can declare it as the function's own `src`.
    fn own_package(
        &self,
        function: &UnitName,
        put: &milepost_model::unit_put::FunctionPut,
    ) -> Option<(&OutlineUnit, &PackagePut)> {
        let wanted = put.package.as_ref().filter(|package| package.version == Selector::Latest)?;
        if wanted.name.as_str() != format!("{function}-pkg") {
            return None;
        }
        let users = self.units.iter().filter(|unit| match &unit.put.unit {
            UnitPut::Function(other) => other.package.as_ref().is_some_and(|package| package.name == wanted.name),
            _ => false,
        });
        if users.count() != 1 {
            return None;
        }
        let (unit, package) = self.units.iter().find_map(|unit| match &unit.put.unit {
            UnitPut::Package(package) if unit.put.name == wanted.name => Some((unit, package)),
            _ => None,
        })?;
        let same_environment = put.environment.is_none() || put.environment == package.environment;
        let from_source = matches!(unit.files.as_slice(), [(TreeSlot::Source | TreeSlot::Code, _)]);
        (same_environment && from_source && package.environment.is_some()).then_some((unit, package))
    }
}

/// None for the default deployment of a manifest.
fn deployment(deployment: &Deployment) -> Option<Entry> {
    let Deployment { id, name } = deployment;
    if id == FILE_NAME && name == FILE_NAME {
        return None;
    }
    let value = if id == name {
        Yaml::text(name)
    } else {
        Yaml::Map(vec![entry("name", Yaml::text(name)), entry("uid", Yaml::text(id))]).short()
    };
    Some(entry("deployment", value))
}

fn environment(spec: &EnvironmentSpec) -> Yaml {
    let runtime = Yaml::text(spec.runtime.to_string());
    if spec.interpreter.is_empty() && spec.builder.is_empty() && spec.variables.is_empty() {
        return runtime;
    }
    let mut entries = vec![entry("runtime", runtime)];
    for (key, text) in [("interpreter", &spec.interpreter), ("builder", &spec.builder)] {
        if !text.is_empty() {
            entries.push(entry(key, Yaml::text(text)));
        }
    }
    if !spec.variables.is_empty() {
        let variables = spec.variables.iter().map(|(name, value)| entry(name, Yaml::text(value))).collect();
        entries.push(entry("vars", Yaml::Map(variables)));
        return Yaml::Map(entries);
    }
    Yaml::Map(entries).short()
}

fn package(put: &PackagePut, unit: &OutlineUnit, unsaid: &mut Vec<Unsaid>) -> Yaml {
    let mut entries = Vec::new();
    match &put.environment {
        Some(environment) if environment.version == Selector::Latest => {
            entries.push(entry("env", Yaml::text(environment.name.as_str())));
        }
        Some(environment) => {
            let message = format!("it uses version {} of environment `{}`", environment.version, environment.name);
            unsaid.push(Unsaid { key: unit.key(), message });
            entries.push(entry("env", Yaml::text(environment.name.as_str())));
        }
        None => unsaid.push(Unsaid { key: unit.key(), message: "it has no environment".to_owned() }),
    }
    let files = |wanted: &[TreeSlot]| unit.files.iter().find(|(slot, _)| wanted.contains(slot)).map(|(_, files)| files);
    let source = files(&[TreeSlot::Source, TreeSlot::Code]);
    let deployed = files(&[TreeSlot::Deployment]);
    if let Some(source) = source {
        entries.push(entry("src", Yaml::text(&source.path)));
        patterns(&mut entries, source);
    }
    entries.extend(build(put, unit));
    if let Some(deployed) = deployed {
        entries.push(entry("deploy", Yaml::text(&deployed.path)));
        if source.is_none() {
            patterns(&mut entries, deployed);
        } else if !deployed.include.is_empty() || !deployed.exclude.is_empty() {
            let message = "the patterns of `deploy` are lost; `include` and `exclude` apply to `src`".to_owned();
            unsaid.push(Unsaid { key: unit.key(), message });
        }
    }
    if source.is_none() && deployed.is_none() {
        unsaid.push(Unsaid { key: unit.key(), message: "it has no files".to_owned() });
    }
    Yaml::Map(entries).short()
}

pub(super) fn patterns(entries: &mut Vec<Entry>, files: &Files) {
    for (key, patterns) in [("include", &files.include), ("exclude", &files.exclude)] {
        if !patterns.is_empty() {
            entries.push(entry(key, Yaml::texts(patterns)));
        }
    }
}

/// The build command. An empty one marks a source without a command, which a convention may build.
pub(super) fn build(put: &PackagePut, unit: &OutlineUnit) -> Option<Entry> {
    let command = put.build_command.as_deref().unwrap_or_default();
    let has = |wanted: TreeSlot| unit.files.iter().any(|(slot, _)| *slot == wanted);
    if !command.is_empty() {
        return Some(entry("build", Yaml::text(command)));
    }
    let said_by_itself = has(TreeSlot::Deployment) || !has(TreeSlot::Source);
    let remark = Some("built by convention, if there is one".to_owned());
    (!said_by_itself).then(|| Entry { remark, ..entry("build", Yaml::text("")) })
}

fn static_item(spec: &StaticSpec, unit: &OutlineUnit, unsaid: &mut Vec<Unsaid>) -> Yaml {
    let mut entries = Vec::new();
    if let Some((_, files)) = unit.files.first() {
        entries.push(entry("src", Yaml::text(&files.path)));
        entries.push(entry("path", Yaml::text(&spec.path)));
        patterns(&mut entries, files);
    }
    if spec.index != DEFAULT_INDEX {
        entries.push(entry("index", Yaml::text(&spec.index)));
    }
    for (key, file) in [("fallback", &spec.fallback), ("error", &spec.error_page)] {
        entries.extend(file.as_ref().map(|file| entry(key, Yaml::text(file))));
    }
    if spec.clean {
        entries.push(entry("clean", Yaml::Bare("true".to_owned())));
    }
    entries.extend(spec.expires_ms.map(|ms| entry("expires", Yaml::text(amounts::duration(ms)))));
    if unit.put.name.as_str() != spec.path {
        let message = format!("its name is lost; in a manifest it is `{}`", spec.path);
        unsaid.push(Unsaid { key: unit.key(), message });
    }
    Yaml::Map(entries).short()
}
