//! Reads `milepost.yaml`, the declaration of an app.
//!
//! A manifest is the deployment `milepost.yaml` unless it sets `deployment`. It may refer to units
//! that only the app has, such as a function created by hand or a shared package. The planner
//! checks such references, see [`Declared::unresolved`].

mod advice;
mod environment;
mod function;
pub mod keys;
mod package;
mod recognise;
mod static_item;
#[cfg(test)]
mod tests;
mod trigger;
mod version;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use milepost_model::change::{Deployment, UnitKey};
use milepost_model::channel::SemVer;
use milepost_model::unit_put::{ConfigPut, UnitPut};
use milepost_model::{AppName, UnitKind, UnitName};

use super::error::{Error, Result};
use super::problems::{Problems, Sink};
use super::yaml::{Content, Documents, Fields, Key, Node, Things, quoted, text};
use super::{Declared, DeclaredUnit, Place, Pointer, Problem, Reference, Unread};

pub use advice::app_name;
pub use recognise::starter;
pub use version::version_of;

pub const FILE_NAME: &str = "milepost.yaml";

/// The JSON schema that `milepost init` writes beside the manifest, for editors. Nothing below
/// `.milepost` is sent to the server.
pub const SCHEMA_PATH: &str = ".milepost/milepost.schema.json";

const KEYS: [&str; keys::MANIFEST_KEYS.len()] = keys::names(&keys::MANIFEST_KEYS);

const DEPLOYMENT_KEYS: [&str; keys::DEPLOYMENT_KEYS.len()] = keys::names(&keys::DEPLOYMENT_KEYS);

const SECRETS_HINT: &str =
    "list only their names, like `secrets: [API_KEY]`; set a value with `milepost secret set API_KEY`";

/// The manifest file, and the folder that its paths are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub file: PathBuf,
    pub folder: PathBuf,
}

impl Location {
    /// Finds the manifest in a folder; `path` may also be the manifest itself.
    pub fn find(path: &Path) -> Option<Self> {
        if path.is_file() {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            return Some(Self { file: path.to_owned(), folder });
        }
        // Avoids a `./` in every message.
        let folder = if path == Path::new(".") { PathBuf::new() } else { path.to_owned() };
        let file = folder.join(FILE_NAME);
        file.is_file().then_some(Self { file, folder })
    }

    fn read(&self) -> Result<String> {
        std::fs::read_to_string(&self.file).map_err(|source| Error::Unreadable { path: self.file.clone(), source })
    }
}

/// Reads the manifest in a folder, or the manifest itself.
pub fn read_manifest(path: &Path) -> Result<Declared> {
    let (declared, errors) = look_at_manifest(path)?;
    if errors.is_empty() { Ok(declared) } else { Err(Error::Mistakes { errors, warnings: declared.warnings }) }
}

/// Reads what it can of a manifest, and returns the errors too.
pub fn look_at_manifest(path: &Path) -> Result<(Declared, Vec<Problem>)> {
    let location = Location::find(path).ok_or_else(|| Error::NoManifest { path: path.to_owned() })?;
    let text = location.read()?;
    Ok(look_at_text(&text, location))
}

fn look_at_text(text: &str, location: Location) -> (Declared, Vec<Problem>) {
    let problems = Problems::default();
    let sink = problems.of_file(&location.file);
    let mut found = Found {
        sink: &sink,
        folder: &location.folder,
        units: Vec::new(),
        claims: Vec::new(),
        references: Vec::new(),
        pointers: Vec::new(),
        file_places: HashMap::new(),
        unread: Unread::default(),
    };
    let (mut app, mut deployment) = (None, None);
    for (at, node) in sink.documents(Documents::parse(text)).into_iter().flat_map(one_or_more).enumerate() {
        if at > 0 {
            sink.wrong_hint(
                node.line,
                "a manifest must be a single document; `---` starts another",
                "remove the `---`",
            );
        }
        let (named, own) = found.read(node);
        app = app.or(named);
        deployment = deployment.or(own);
    }
    let Found { units, mut claims, references, pointers, file_places, unread, .. } = found;
    claims.sort_by(|one, other| one.key.cmp(&other.key));
    claims.dedup_by(|one, other| one.key == other.key);
    super::checks::answered_twice(&problems, &units, "route");
    let (errors, warnings) = problems.into_parts();
    let own = || Deployment { id: FILE_NAME.to_owned(), name: FILE_NAME.to_owned() };
    let declared = Declared {
        deployment: deployment.unwrap_or_else(own),
        is_unnamed: false,
        app,
        origin: location.file,
        folder: location.folder,
        units,
        claims,
        references,
        pointers,
        file_places,
        notes: Vec::new(),
        unread,
        warnings,
    };
    (declared.without_documents(), errors)
}

/// A text without any document is an empty manifest.
fn one_or_more(mut nodes: Vec<Node>) -> Vec<Node> {
    if nodes.is_empty() {
        nodes.push(Node { line: 1, content: Content::Null });
    }
    nodes
}

/// What was read so far.
struct Found<'a> {
    sink: &'a Sink<'a>,
    folder: &'a Path,
    units: Vec<DeclaredUnit>,
    claims: Vec<Reference>,
    references: Vec<Reference>,
    pointers: Vec<Pointer>,
    file_places: HashMap<super::FileSet, Place>,
    unread: Unread,
}

impl<'a> Found<'a> {
    fn read(&mut self, node: Node) -> (Option<AppName>, Option<Deployment>) {
        if node.content == Content::Null {
            self.sink.wrong_hint(1, "the manifest is empty", format!("valid keys are {}", quoted(&KEYS)));
            return (None, None);
        }
        let mut fields = Fields::top(self.sink, node, "the manifest", &KEYS);
        let app = fields.parsed("app", |name| name.parse::<AppName>().map_err(|error| error.to_string()));
        self.unread.app |= fields.is_unreadable("app");
        let deployment = deployment(&mut fields);
        // `publish` reads the version itself; here it is only validated.
        fields.parsed("version", |version| version.parse::<SemVer>().map_err(|error| error.to_string()));
        self.config(&mut fields);
        for (key, node) in self.things(&mut fields, "environments", UnitKind::Environment) {
            self.environment(key, node);
        }
        for (key, node) in self.things(&mut fields, "packages", UnitKind::Package) {
            self.package(&key, node);
        }
        for (key, node) in self.things(&mut fields, "functions", UnitKind::Function) {
            self.function(&key, node);
        }
        for (name, line) in fields.names("secrets", SECRETS_HINT) {
            self.claim(&name, line, "`secrets`", "the manifest");
        }
        let items = fields.list("static", static_item::FORM);
        let is_reported = fields.is_unreadable("static");
        items.into_iter().for_each(|node| self.static_items(node, is_reported));
        let routes = fields.list("routes", "write each as `- GET /hello: hello`");
        let is_reported = fields.is_unreadable("routes");
        routes.into_iter().for_each(|node| self.route(node, is_reported));
        for (key, node) in self.things(&mut fields, "timers", UnitKind::Timer) {
            self.timer(&key, node);
        }
        for (key, kind) in [
            ("environments", UnitKind::Environment),
            ("packages", UnitKind::Package),
            ("functions", UnitKind::Function),
        ] {
            if fields.is_unreadable(key) {
                self.unread.kinds.insert(kind);
                // A function with its own code has a package.
                self.unread.kinds.extend((kind == UnitKind::Function).then_some(UnitKind::Package));
            }
        }
        (app, deployment)
    }

    /// Items under user-defined names. The names of unreadable ones are recorded in `unread`.
    fn things(&mut self, fields: &mut Fields<'_>, key: &str, kind: UnitKind) -> Vec<(Key, Node)> {
        let (known, plain, form) = match kind {
            UnitKind::Environment => (&environment::KEYS[..], true, "write each as `py311: python`"),
            UnitKind::Package => (&package::KEYS[..], false, "write each as `shared: { env: python, src: lib }`"),
            UnitKind::Function => (&function::KEYS[..], false, "write each as `hello: { env: python, src: hello }`"),
            _ => (&trigger::TIMER_KEYS[..], false, "write each as `nightly: { cron: \"0 3 * * *\", function: hello }`"),
        };
        let Things { whole, bare } = fields.things(key, known, plain, form);
        bare.iter().for_each(|name| self.is_there(kind, &name.text));
        if whole.iter().any(|(key, _)| key.text.is_empty()) {
            // Any reference may mean the item without a name.
            self.unread.kinds.insert(kind);
            self.unread.kinds.extend((kind == UnitKind::Function).then_some(UnitKind::Package));
        }
        whole
    }

    /// Records that a unit with this name is declared, but could not be read.
    fn is_there(&mut self, kind: UnitKind, name: &str) {
        let mut note = |kind: UnitKind, name: &str| {
            self.unread.names.extend(UnitName::for_kind(kind, name).ok().map(|name| UnitKey { kind, name }));
        };
        note(kind, name);
        if kind == UnitKind::Function {
            note(UnitKind::Package, &format!("{name}-pkg"));
        }
    }

    fn config(&mut self, fields: &mut Fields<'_>) {
        let Some(node) = fields.take("config") else { return };
        match node.content {
            Content::Null => {}
            Content::Map(_) => {
                let config = ConfigPut { document: Some(node.to_json()), ..ConfigPut::default() };
                self.add(UnitName::config(), UnitPut::Config(config), Vec::new(), node.line);
            }
            _ => {
                let message = format!("`config` must be a map, not {}", node.kind());
                self.sink.wrong_hint(node.line, message, "write each value under a key, like `greeting: hi`");
            }
        }
    }

    /// Parses the name of a unit and reports an invalid one. `before` is a prefix for the error.
    fn name(&self, kind: UnitKind, text: &str, line: u64, before: &str) -> Option<UnitName> {
        UnitName::for_kind(kind, text).map_err(|error| self.sink.wrong(line, format!("{before}{error}"))).ok()
    }

    /// The name of an item in a section.
    fn own_name(&self, kind: UnitKind, key: &Key) -> Option<UnitName> {
        if key.text.is_empty() {
            let message = format!("{} has no name", called(kind, key));
            self.sink.wrong_hint(key.line, message, "write its name first, with its keys nested under it");
            return None;
        }
        self.name(kind, &key.text, key.line, "")
    }

    /// Like [`Self::name`], and also records a reference to the unit.
    fn refer(&mut self, kind: UnitKind, text: &str, line: u64, by: &str, before: &str) -> Option<UnitName> {
        let name = self.name(kind, text, line, before)?;
        let key = UnitKey { kind, name: name.clone() };
        self.references.push(Reference { place: self.sink.place(line), by: by.to_owned(), key });
        Some(name)
    }

    fn claim(&mut self, name: &str, line: u64, what: &str, by: &str) -> Option<UnitName> {
        let name = self.name(UnitKind::Secret, name, line, &format!("{what}: "))?;
        let key = UnitKey { kind: UnitKind::Secret, name: name.clone() };
        self.claims.push(Reference { place: self.sink.place(line), by: by.to_owned(), key });
        Some(name)
    }

    fn add(
        &mut self,
        name: UnitName,
        unit: UnitPut,
        trees: Vec<(super::TreeSlot, super::FileSet)>,
        line: u64,
    ) -> &mut DeclaredUnit {
        let place = self.sink.place(line);
        let unit = DeclaredUnit { put: super::put(name, unit), trees, place };
        let at = self.units.len();
        self.units.push(unit);
        &mut self.units[at]
    }

    /// An earlier declaration with the same name.
    fn earlier(&self, kind: UnitKind, name: &UnitName) -> Option<&DeclaredUnit> {
        self.units.iter().find(|unit| unit.put.unit.kind() == kind && unit.put.name == *name)
    }

    /// Resolves a path relative to the manifest, and reports a missing file.
    fn path(&self, given: &str, line: u64, key: &str, what: &str) -> PathBuf {
        let path = self.folder.join(given);
        if !path.exists() {
            let message = format!("`{key}` of {what}: `{}` does not exist", path.display());
            self.sink.wrong_hint(line, message, "paths are relative to the folder of the manifest");
        }
        path
    }
}

fn deployment(fields: &mut Fields<'_>) -> Option<Deployment> {
    let node = fields.take("deployment")?;
    let sink = fields.sink();
    let line = node.line;
    let (id, name) = match node.content {
        Content::Map(_) => {
            let mut inner = Fields::read(sink, node, line, "`deployment`", &DEPLOYMENT_KEYS);
            let id = inner.need("uid", "add a `uid` to identify this folder; it may be any string");
            let name = inner.text("name");
            let id = id.map(|(id, _)| id);
            (id.clone(), name.or(id))
        }
        _ => {
            let name = text(sink, node, "`deployment`");
            (name.clone(), name)
        }
    };
    let (id, name) = (id?, name?);
    if id.trim().is_empty() {
        sink.wrong_hint(
            line,
            "`deployment` is empty",
            "give it a name that no other folder of the app uses, or remove it",
        );
        return None;
    }
    Some(Deployment { id, name })
}

/// The app that the manifest in a folder specifies, even if other parts are invalid.
pub fn app_of(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(FILE_NAME)).ok()?;
    let node = Documents::parse(&text).ok()?.nodes.into_iter().next()?;
    let Content::Map(entries) = node.content else { return None };
    let (_, app) = entries.into_iter().find(|(key, _)| key.text == "app")?;
    let Content::Scalar(_, name) = app.content else { return None };
    name.parse::<AppName>().is_ok().then_some(name)
}

/// ``function `hello` ``
fn called(kind: UnitKind, key: &Key) -> String {
    match (kind, key.text.as_str()) {
        (UnitKind::Environment, "") => format!("an {kind}"),
        (_, "") => format!("a {kind}"),
        (_, name) => format!("{kind} `{name}`"),
    }
}
