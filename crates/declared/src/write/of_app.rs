//! Converts the units of an app version to an outline, with their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use milepost_model::change::{Deployment, UnitKey};
use milepost_model::spec::{EnvironmentSpec, FunctionSpec, PackageSpec, Pin, StaticSpec, Target};
use milepost_model::unit_put::{
    ConfigPut, FunctionPut, PackagePut, RoutePut, ScalePut, TargetPut, TimerPut, UnitPut, VersionRef,
};
use milepost_model::{Digest, Selector, UnitKind, UnitName, UnitSpec, build};

use super::super::TreeSlot;
use super::download::Download;
use super::outline::{Files, Outline, OutlineUnit, Unsaid};

/// A unit in an app version.
#[derive(Debug, Clone)]
pub struct Held {
    pub key: UnitKey,
    pub number: i64,
    pub digest: Digest,
    pub description: String,
    /// None for a secret, of which only the name is exported.
    pub spec: Option<UnitSpec>,
    pub deployment: Option<Deployment>,
}

/// The trees to download, and the target of each below `folder`.
pub fn downloads(held: &[Held], folder: &Path) -> Vec<Download> {
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for unit in held {
        let mut add = |part: Option<&'static str>, root: Digest, to: String| {
            found.push(Download { key: unit.key.clone(), number: unit.number, part, root, to: folder.join(to) });
        };
        let name = &unit.key.name;
        match &unit.spec {
            Some(UnitSpec::Package(package)) => {
                if let Some(source) = package.source {
                    add(Some("source"), source, format!("packages/{name}"));
                }
                match package.deployment {
                    Some(root) if package.source.is_none() => add(Some("deployment"), root, format!("packages/{name}")),
                    Some(root) if made_by_hand(package) => add(Some("deployment"), root, format!("deployments/{name}")),
                    _ => {}
                }
            }
            Some(UnitSpec::Static(item)) => {
                add(None, item.tree, format!("static/{}", static_folder(&item.path, &mut names)));
            }
            _ => {}
        }
    }
    found
}

/// Whether the deployment was not built from the source.
fn made_by_hand(package: &PackageSpec) -> bool {
    package.build_log.is_none() && package.deployment != package.source
}

/// A unique folder name for the files of a static item.
fn static_folder(path: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = path.trim_matches('/').replace('/', "-");
    let plain = if plain.is_empty() || plain == "." { "root".to_owned() } else { plain };
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(plain);
    taken.insert(free.clone());
    free
}

/// The files of each download.
pub struct Fetched<'a> {
    pub folder: &'a Path,
    pub downloads: &'a [Download],
    pub paths: &'a [BTreeSet<String>],
}

/// Returns the outline, and what it cannot express.
pub fn outline(held: &[Held], fetched: &Fetched<'_>) -> (Outline, Vec<Unsaid>) {
    let mut writer = Writer { held, fetched, notes: Vec::new() };
    let units: Vec<OutlineUnit> = held.iter().filter_map(|unit| writer.unit(unit)).collect();
    let named: BTreeSet<&UnitName> = units
        .iter()
        .filter_map(|unit| match &unit.put.unit {
            UnitPut::Function(function) => Some(&function.secrets),
            _ => None,
        })
        .flatten()
        .collect();
    let secrets = held.iter().filter(|unit| unit.key.kind == UnitKind::Secret).map(|unit| &unit.key.name);
    let secrets = secrets.filter(|name| !named.contains(name)).cloned().collect();
    (Outline { units, secrets, ..Outline::default() }, writer.notes)
}

struct Writer<'a> {
    held: &'a [Held],
    fetched: &'a Fetched<'a>,
    notes: Vec<Unsaid>,
}

impl Writer<'_> {
    fn unit(&mut self, held: &Held) -> Option<OutlineUnit> {
        let (unit, files) = match held.spec.as_ref()? {
            UnitSpec::Environment(spec) => {
                // Every app has it by default.
                let unasked = EnvironmentSpec::built_in(held.key.name.as_str()).as_ref() == Some(spec);
                if unasked && held.deployment.is_none() {
                    return None;
                }
                (UnitPut::Environment(spec.clone()), Vec::new())
            }
            UnitSpec::Secret(_) => return None,
            UnitSpec::Config(config) => (
                UnitPut::Config(ConfigPut { document: Some(config.document.clone()), ..ConfigPut::default() }),
                Vec::new(),
            ),
            UnitSpec::Package(package) => self.package(held, package),
            UnitSpec::Function(function) => (UnitPut::Function(self.function(held, function)), Vec::new()),
            UnitSpec::Static(item) => (UnitPut::Static(item.clone()), self.static_files(held, item)),
            UnitSpec::Route(route) => (UnitPut::Route(RoutePut::of(route, target(&route.target))), Vec::new()),
            UnitSpec::Timer(timer) => (UnitPut::Timer(TimerPut::of(timer, target(&timer.target))), Vec::new()),
        };
        let mut put = crate::put(held.key.name.clone(), unit);
        if held.key.kind == UnitKind::Function && !held.description.is_empty() {
            put.description = Some(held.description.clone());
        }
        Some(OutlineUnit { put, files })
    }

    fn package(&mut self, held: &Held, package: &PackageSpec) -> (UnitPut, Vec<(TreeSlot, Files)>) {
        let environment = self.latest(held, UnitKind::Environment, &package.environment);
        let fetched = self.fetched_of(held);
        let by_itself = self.builds_by_itself(package, fetched.first().map(|(_, download)| *download));
        let slot = |part: Option<&str>| match part {
            Some("source") if package.deployment.is_some() && made_by_hand(package) => TreeSlot::Source,
            // Omit what the convention decides in the same way.
            Some("source") if package.build_command.is_empty() && by_itself == Some(true) => TreeSlot::Code,
            Some("source") => TreeSlot::Source,
            _ if package.source.is_none() && by_itself == Some(false) => TreeSlot::Code,
            _ => TreeSlot::Deployment,
        };
        let files = fetched.iter().map(|(path, download)| (slot(download.part), at(path))).collect();
        let command = Some(package.build_command.clone()).filter(|command| !command.is_empty());
        let put = PackagePut { environment: Some(environment), build_command: command, ..PackagePut::default() };
        (UnitPut::Package(put), files)
    }

    /// Whether code in this environment is built without a command. None if this is not known.
    fn builds_by_itself(&self, package: &PackageSpec, download: Option<&Download>) -> Option<bool> {
        let environment = self.find(UnitKind::Environment, &package.environment.name)?;
        let Some(UnitSpec::Environment(environment)) = &environment.spec else { return None };
        let folder = &download?.to;
        let root = |name: &str| {
            let file = folder.join(name);
            file.symlink_metadata().ok().filter(std::fs::Metadata::is_file).and_then(|_| std::fs::read(&file).ok())
        };
        Some(build::command("", environment, root).is_some())
    }

    fn function(&mut self, held: &Held, spec: &FunctionSpec) -> FunctionPut {
        let package = self.latest(held, UnitKind::Package, &spec.package);
        let of_package = match self.find(UnitKind::Package, &spec.package.name).map(|package| &package.spec) {
            Some(Some(UnitSpec::Package(package))) => Some(package.environment.clone()),
            _ => None,
        };
        let same = of_package.is_some_and(|of_package| same_version(&of_package, &spec.environment));
        let environment = (!same).then(|| self.latest(held, UnitKind::Environment, &spec.environment));
        let usual = FunctionPut::default().resolve(None, spec.package.clone(), spec.environment.clone()).ok();
        let differs =
            |same: fn(&FunctionSpec, &FunctionSpec) -> bool| usual.as_ref().is_none_or(|usual| !same(usual, spec));
        FunctionPut {
            package: Some(package),
            environment,
            entrypoint: Some(spec.entrypoint.clone()).filter(|entrypoint| !entrypoint.is_empty()),
            variables: spec.variables.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect(),
            secrets: spec.secrets.clone(),
            configmaps: spec.configmaps.clone(),
            permission: differs(|one, other| one.permission == other.permission).then_some(spec.permission),
            memory: differs(|one, other| one.memory == other.memory).then_some(spec.memory),
            cpu: differs(|one, other| one.cpu == other.cpu).then_some(spec.cpu),
            timeout_ms: differs(|one, other| one.timeout_ms == other.timeout_ms).then_some(spec.timeout_ms),
            scale: usual.as_ref().and_then(|usual| scale(usual, spec)),
            ..FunctionPut::default()
        }
    }

    fn static_files(&self, held: &Held, item: &StaticSpec) -> Vec<(TreeSlot, Files)> {
        let place = |(path, download): (String, &Download)| {
            let position = self.fetched.downloads.iter().position(|other| std::ptr::eq(other, download));
            let names = position.and_then(|position| self.fetched.paths.get(position));
            match names.and_then(BTreeSet::first).filter(|_| item.file) {
                Some(file) => format!("{path}/{file}"),
                None => path,
            }
        };
        self.fetched_of(held).into_iter().map(|found| (TreeSlot::Static, at(&place(found)))).collect()
    }

    /// The downloads of a unit, each with its path in the manifest.
    fn fetched_of(&self, held: &Held) -> Vec<(String, &Download)> {
        let own = self.fetched.downloads.iter().filter(|download| download.key == held.key);
        own.filter_map(|download| {
            let path = download.to.strip_prefix(self.fetched.folder).ok()?.to_str()?;
            Some((path.to_owned(), download))
        })
        .collect()
    }

    /// A reference in a manifest is always to the version in the same app version. Adds a note if
    /// the unit uses another one.
    fn latest(&mut self, held: &Held, kind: UnitKind, pin: &Pin) -> VersionRef {
        let number = pin.number.map_or_else(|| "another version".to_owned(), |number| format!("version {number}"));
        let message = match self.find(kind, &pin.name) {
            Some(current) if current.digest == pin.digest => None,
            Some(current) => Some(format!(
                "it uses {number} of {kind} `{}`; the manifest will use version {}",
                pin.name, current.number
            )),
            None => Some(format!("it uses {number} of {kind} `{}`, which is not in this app version", pin.name)),
        };
        self.notes.extend(message.map(|message| Unsaid { key: held.key.clone(), message }));
        VersionRef { name: pin.name.clone(), version: Selector::Latest }
    }

    fn find(&self, kind: UnitKind, name: &UnitName) -> Option<&Held> {
        self.held.iter().find(|held| held.key.kind == kind && held.key.name == *name)
    }
}

fn at(path: &str) -> Files {
    Files { path: path.to_owned(), ..Files::default() }
}

fn same_version(one: &Pin, other: &Pin) -> bool {
    one.name == other.name && one.digest == other.digest
}

fn target(target: &Target) -> TargetPut {
    let version = match (&target.alias, &target.version) {
        (Some(alias), _) => Selector::Alias(alias.clone()),
        (None, Some(Pin { number: Some(number), .. })) => Selector::Number(*number),
        (None, Some(pin)) => Selector::Digest(pin.digest.hex()),
        (None, None) => Selector::Latest,
    };
    TargetPut { function: target.function.clone(), version }
}

/// The scale settings that differ from the defaults. The default maximum is raised to the minimum.
fn scale(usual: &FunctionSpec, spec: &FunctionSpec) -> Option<ScalePut> {
    let (usual, scale) = (&usual.scale, &spec.scale);
    let put = ScalePut {
        min: (scale.min != usual.min).then_some(scale.min),
        max: (scale.max != usual.max.max(scale.min)).then_some(scale.max),
        concurrency: (scale.concurrency != usual.concurrency).then_some(scale.concurrency),
        idle_ms: (scale.idle_ms != usual.idle_ms).then_some(scale.idle_ms),
    };
    (put != ScalePut::default()).then_some(put)
}

/// The deployments that own units, by id, and the units without an owner. Secrets and built-in
/// environments are skipped.
pub fn owners(held: &[Held]) -> (BTreeMap<String, Deployment>, Vec<UnitKey>) {
    let mut owners = BTreeMap::new();
    let mut free = Vec::new();
    for unit in held {
        let built_in = EnvironmentSpec::built_in(unit.key.name.as_str()).is_some();
        match &unit.deployment {
            Some(deployment) => drop(owners.insert(deployment.id.clone(), deployment.clone())),
            None if unit.key.kind == UnitKind::Secret => {}
            None if unit.key.kind == UnitKind::Environment && built_in => {}
            None => free.push(unit.key.clone()),
        }
    }
    (owners, free)
}
