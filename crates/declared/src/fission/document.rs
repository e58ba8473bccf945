//! Reads one document: its kind, name and namespace.

use milepost_model::change::Deployment;
use milepost_model::{AppName, UnitKind, UnitName, suggest};

use super::super::problems::Sink;
use super::super::yaml::{Content, Fields, Key, Node, case, meant, text};
use super::{Hidden, Reader};

const API_VERSION: &str = "fission.io/v1";
pub const KEYS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
pub const DEPLOYMENT_KEYS: [&str; 5] = ["apiVersion", "kind", "metadata", "name", "uid"];
/// Name and namespace, and keys that Kubernetes and its tools write.
pub const METADATA_KEYS: [&str; 14] = [
    "name",
    "namespace",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The supported kinds, and how error messages call them.
const KINDS: [(&str, &str); 7] = [
    ("Function", "function"),
    ("Package", "package"),
    ("Environment", "environment"),
    ("HTTPTrigger", "HTTP trigger"),
    ("TimeTrigger", "time trigger"),
    ("ArchiveUploadSpec", "archive"),
    ("DeploymentConfig", "deployment"),
];

/// Known kinds that are not supported, and what to do instead.
const REFUSED: [(&str, &str); 3] = [
    ("MessageQueueTrigger", "call the function's URL from the consumer of the queue, and remove this document"),
    ("KubernetesWatchTrigger", "remove this document: Milepost does not run on Kubernetes"),
    ("CanaryConfig", "remove this document; to switch versions, set `alias` on the trigger and move the alias"),
];

/// An object of a known kind.
pub struct Object<'a> {
    pub sink: &'a Sink<'a>,
    /// ``function `hello` ``
    pub what: String,
    pub name: Option<UnitName>,
    pub spec: Fields<'a>,
    pub line: u64,
}

impl Reader<'_> {
    pub fn document(&mut self, sink: &Sink<'_>, mut node: Node) {
        let line = node.line;
        let what_it_is = node.kind();
        let entries = match &mut node.content {
            Content::Map(entries) => entries,
            content => {
                let message = format!("a document must be a map, not {what_it_is}");
                sink.wrong_hint(line, message, "start it with `apiVersion: fission.io/v1` and `kind: Function`");
                if let Content::List(items) = std::mem::replace(content, Content::Null) {
                    // Read the documents in the list anyway.
                    let maps = items.into_iter().filter(|item| matches!(item.content, Content::Map(_)));
                    maps.for_each(|item| self.document(sink, item));
                }
                return;
            }
        };
        let kinds = KINDS.map(|(kind, _)| kind);
        let Some((kind, kind_line)) = kind_of(sink, line, entries) else {
            let (called, text) = ("this document".to_owned(), Some(node.words()));
            self.lost.documents.push(Hidden { place: sink.place(line), called, text });
            return;
        };
        let version = text_of(sink, entries, "apiVersion");
        if let Some((version, line)) = version.filter(|(version, _)| version != API_VERSION) {
            if kinds.contains(&kind.as_str()) {
                let message = format!("unsupported `apiVersion` `{version}`");
                sink.wrong_hint(line, message, format!("write `{API_VERSION}`"));
            } else {
                let message = format!("unknown kind `{kind}` of `{version}`; this document is skipped");
                sink.warn(line, message);
                return;
            }
        }
        if let Some((_, instead)) = REFUSED.iter().find(|(refused, _)| *refused == kind) {
            sink.wrong_hint(kind_line, format!("kind `{kind}` is not supported"), *instead);
            return;
        }
        match kind.as_str() {
            known if kinds.contains(&known) => self.of_kind(sink, node, known),
            _ => {
                // Unit kinds that are skipped would be removed from the app, so a misspelled kind
                // is an error.
                match suggest::closest(&kind, kinds).as_slice() {
                    [] => {
                        let message = format!("unknown kind `{kind}`; this document is skipped");
                        sink.warn_hint(kind_line, message, one_of(&kinds));
                    }
                    near @ [meant, ..] => {
                        let hint = format!("did you mean {}?", suggest::or_list(near));
                        sink.wrong_hint(kind_line, format!("unknown kind `{kind}`"), hint);
                        self.of_kind(sink, node, meant);
                    }
                }
            }
        }
    }

    fn of_kind(&mut self, sink: &Sink<'_>, node: Node, kind: &str) {
        match kind {
            "ArchiveUploadSpec" => self.archive(sink, node),
            "DeploymentConfig" => self.deployment_config(sink, node),
            _ => self.object(sink, node, kind),
        }
    }

    fn object(&mut self, sink: &Sink<'_>, node: Node, kind: &str) {
        let line = node.line;
        let called = KINDS.iter().find(|(known, _)| *known == kind).map_or(kind, |(_, called)| called);
        let name = name_of(&node).unwrap_or_default().to_owned();
        let what = if name.is_empty() { format!("a {called}") } else { format!("{called} `{name}`") };
        let mut fields = Fields::read(sink, node, line, &what, &KEYS);
        note_build_log(&mut fields, &what);
        let mut metadata = fields.inner_short("metadata", &METADATA_KEYS, "name");
        metadata.line = line;
        let name = metadata.need("name", "add `metadata:` with `name: NAME` under it");
        if let Some((namespace, line)) = metadata.text_at("namespace") {
            self.namespace(sink, &namespace, line, None);
        }
        let (labels, annotations) = (metadata.take_set("labels"), metadata.take_set("annotations"));
        if labels.is_some() || annotations.is_some() {
            self.labelled.0 += 1;
            self.labelled.1.get_or_insert(sink.place(line));
        }
        note_metadata(&mut metadata, &what);
        let unit_kind = match kind {
            "Function" => UnitKind::Function,
            "Package" => UnitKind::Package,
            "Environment" => UnitKind::Environment,
            "HTTPTrigger" => UnitKind::Route,
            _ => UnitKind::Timer,
        };
        if name.is_none() {
            *self.lost.unnamed.entry(unit_kind.as_str()).or_default() += 1;
        }
        let name = name.and_then(|(name, line)| {
            self.seen_at(sink, unit_kind.as_str(), called, &name, line);
            unit_name(sink, unit_kind, &name, line, "")
        });
        let Some(spec) = fields.take("spec") else {
            let name = name.as_ref().map(ToString::to_string).unwrap_or_default();
            match unit_kind {
                // An unreadable spec may contain a reference. A missing one does not.
                _ if !fields.is_unreadable("spec") => {}
                UnitKind::Package => self.lost.archives.push(name),
                UnitKind::Function => self.lost.packages.push(name),
                _ => {}
            }
            fields.missing("spec", "add `spec:` with its settings");
            return;
        };
        let keys = match unit_kind {
            UnitKind::Function => &super::function::KEYS[..],
            UnitKind::Package => &super::package::KEYS[..],
            UnitKind::Environment => &super::environment::KEYS[..],
            UnitKind::Route => &super::trigger::ROUTE_KEYS[..],
            _ => &super::trigger::TIMER_KEYS[..],
        };
        let spec_line = spec.line;
        let mut spec = Fields::read(sink, spec, spec_line, &what, keys);
        spec.line = line;
        let object = Object { sink, what, name, spec, line };
        match unit_kind {
            UnitKind::Function => self.function(object),
            UnitKind::Package => self.package(object),
            UnitKind::Environment => self.environment(object),
            UnitKind::Route => self.http_trigger(object),
            _ => self.time_trigger(object),
        }
    }

    /// Records the location of an object, and reports a duplicate name.
    pub fn seen_at(&mut self, sink: &Sink<'_>, kind: &'static str, called: &str, name: &str, line: u64) {
        let place = sink.place(line);
        if let Some(earlier) = self.seen.get(&(kind, name.to_owned())) {
            let message = format!("duplicate {called} `{name}`, first declared at {earlier}");
            sink.wrong_hint(line, message, "keep one of them, or rename one");
            return;
        }
        self.seen.insert((kind, name.to_owned()), place);
    }

    /// Checks the namespace of an object, or of a reference (`what`).
    pub fn namespace(&mut self, sink: &Sink<'_>, namespace: &str, line: u64, what: Option<&str>) {
        if namespace.is_empty() {
            return;
        }
        match &self.namespace {
            None => {
                if namespace != super::NO_APP
                    && let Err(error) = namespace.parse::<AppName>()
                {
                    sink.wrong(line, format!("`namespace` must be the name of an app: {error}"));
                }
                self.namespace = Some((namespace.to_owned(), sink.place(line)));
            }
            Some((known, _)) if known == namespace => {}
            Some((known, place)) => {
                let whose = what.map(|what| format!("{what} is in ")).unwrap_or_default();
                let message = format!("{whose}namespace `{namespace}`, but {place} sets `{known}`");
                sink.wrong_hint(line, message, "a namespace is an app: use one folder of specs for each app");
            }
        }
    }

    fn deployment_config(&mut self, sink: &Sink<'_>, node: Node) {
        let line = node.line;
        let mut fields = Fields::read(sink, node, line, "the DeploymentConfig", &DEPLOYMENT_KEYS);
        note_whole_metadata(&mut fields);
        let name = fields.need("name", "add a `name` to show for this deployment");
        let uid = fields.need("uid", "add a `uid` to identify this folder, for example a UUID");
        if let Some(place) = &self.config {
            let message = format!("duplicate DeploymentConfig, first declared at {place}");
            sink.wrong_hint(line, message, "a folder is one deployment: keep one of them");
            return;
        }
        self.config = Some(sink.place(line));
        let (Some((name, _)), Some((id, uid_line))) = (name, uid) else { return };
        if id.trim().is_empty() {
            sink.wrong_hint(
                uid_line,
                "the `uid` of the DeploymentConfig is empty",
                "set a `uid` to identify this folder, for example a UUID",
            );
        }
        self.deployment = Some(Deployment { id, name });
    }
}

/// The string under a key, and the line of the key. Any other value is reported, and read anyway if
/// its meaning is clear.
fn text_of(sink: &Sink<'_>, entries: &[(Key, Node)], key: &str) -> Option<(String, u64)> {
    let (key, node) = case::find(entries, key)?;
    let text = text(sink, node.clone(), &format!("`{}` of a document", key.text))?;
    Some((text, key.line))
}

/// The kind of a document, and its line. A missing kind is reported and inferred from the rest, so
/// that the document is still checked.
fn kind_of(sink: &Sink<'_>, line: u64, entries: &mut [(Key, Node)]) -> Option<(String, u64)> {
    let looks = looks_like(entries).map(|kind| (kind.to_owned(), line));
    if case::find(entries, "kind").is_some() {
        return text_of(sink, entries, "kind").or(looks);
    }
    let near = entries.iter_mut().find(|(key, _)| !suggest::closest(&key.text, ["kind"]).is_empty());
    if let Some((key, _)) = near {
        sink.wrong_hint(line, "this document has no `kind`", "did you mean `kind`?");
        key.text = "kind".to_owned();
        return text_of(sink, entries, "kind").or(looks);
    }
    let kinds = || one_of(&KINDS.map(|(kind, _)| kind));
    let hint = looks.as_ref().map_or_else(kinds, |(kind, _)| format!("write `kind: {kind}`"));
    sink.wrong_hint(line, "this document has no `kind`", hint);
    looks
}

/// Infers the kind from keys that only one kind has.
fn looks_like(entries: &[(Key, Node)]) -> Option<&'static str> {
    let has = |entries: &[(Key, Node)], key: &str| case::find(entries, key).is_some();
    let spec = case::find(entries, "spec").map(|(_, value)| &value.content);
    let by_spec = [
        ("package", "Function"),
        ("source", "Package"),
        ("deployment", "Package"),
        ("runtime", "Environment"),
        ("relativeurl", "HTTPTrigger"),
        ("prefix", "HTTPTrigger"),
        ("cron", "TimeTrigger"),
    ];
    match spec {
        Some(Content::Map(spec)) => by_spec.into_iter().find(|(key, _)| has(spec, key)).map(|(_, kind)| kind),
        Some(_) => None,
        None if has(entries, "include") => Some("ArchiveUploadSpec"),
        None if has(entries, "uid") => Some("DeploymentConfig"),
        None => None,
    }
}

fn name_of(node: &Node) -> Option<&str> {
    let metadata = value_of(node, "metadata")?;
    match &metadata.content {
        Content::Scalar(..) => meant(metadata),
        _ => meant(value_of(metadata, "name")?),
    }
}

/// The value of a key in a map, or in a list that should be a map.
fn value_of<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.content {
        Content::Map(entries) => case::find(entries, key).map(|(_, value)| value),
        Content::List(items) => items.iter().find_map(|item| value_of(item, key)),
        Content::Null | Content::Scalar(..) => None,
    }
}

/// Adds notes for metadata that only Kubernetes acts on.
fn note_metadata(metadata: &mut Fields<'_>, what: &str) {
    for key in ["finalizers", "generateName", "ownerReferences"] {
        if let Some(node) = metadata.take_set(key) {
            let message = format!("`{key}` of {what} is not carried over");
            metadata.sink().note(node.line, message, "only Kubernetes uses it");
        }
    }
}

/// Adds a note for the metadata of a document that has its name at the top level.
pub fn note_whole_metadata(fields: &mut Fields<'_>) {
    if let Some(node) = fields.take_set("metadata") {
        let message = format!("`metadata` of {} is not carried over", fields.what());
        fields.sink().note(node.line, message, "only the `name` next to `kind` is used");
    }
}

/// The build status is not a specification, but users may want to keep the log.
fn note_build_log(fields: &mut Fields<'_>, what: &str) {
    let Some(Node { content: Content::Map(status), .. }) = fields.take("status") else { return };
    if let Some((key, _)) = case::find(&status, "buildlog").filter(|(_, node)| node.says_something()) {
        let message = format!("`buildlog` of {what} is not carried over");
        fields.sink().note(key.line, message, "Milepost keeps the logs of its own builds");
    }
}

/// Parses a unit name and reports an invalid one. `before` is a prefix for the error.
pub fn unit_name(sink: &Sink<'_>, kind: UnitKind, text: &str, line: u64, before: &str) -> Option<UnitName> {
    UnitName::for_kind(kind, text).map_err(|error| sink.wrong(line, format!("{before}{error}"))).ok()
}

fn one_of(kinds: &[&str]) -> String {
    format!("valid kinds are {}", super::super::yaml::quoted(kinds))
}
