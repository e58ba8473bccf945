//! One document: its kind, its name and its namespace.

use milepost_model::change::Deployment;
use milepost_model::{AppName, UnitKind, UnitName, suggest};

use super::super::problems::Sink;
use super::super::yaml::{Content, Fields, Key, Node, case, meant, text};
use super::{Hidden, Reader};

const API_VERSION: &str = "fission.io/v1";
pub const KEYS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
pub const DEPLOYMENT_KEYS: [&str; 5] = ["apiVersion", "kind", "metadata", "name", "uid"];
/// What Kubernetes and its tools keep there, besides name and namespace.
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

/// The kinds that are read, and how an error calls one of them.
const KINDS: [(&str, &str); 7] = [
    ("Function", "function"),
    ("Package", "package"),
    ("Environment", "environment"),
    ("HTTPTrigger", "HTTP trigger"),
    ("TimeTrigger", "time trigger"),
    ("ArchiveUploadSpec", "archive"),
    ("DeploymentConfig", "deployment"),
];

/// The kinds that are known and that Milepost has nothing for, and what there is instead.
const REFUSED: [(&str, &str); 3] = [
    ("MessageQueueTrigger", "call the function's URL from whatever reads the queue, and take this document out"),
    ("KubernetesWatchTrigger", "there is no Kubernetes to watch; take this document out"),
    (
        "CanaryConfig",
        "move an alias from version to version instead, and let the trigger name it with `alias`; take this document out",
    ),
];

/// One object whose kind is known.
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
                let message = format!("a document must be a map of keys, not {what_it_is}");
                sink.wrong_hint(line, message, "begin it with `apiVersion: fission.io/v1` and `kind: Function`");
                if let Content::List(items) = std::mem::replace(content, Content::Null) {
                    // Documents in a list are documents all the same.
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
                let message = format!("`{version}` is not an `apiVersion` that Milepost knows");
                sink.wrong_hint(line, message, format!("write `{API_VERSION}`"));
            } else {
                let message = format!("the kind `{kind}` of `{version}` is not known, and this document is left out");
                sink.warn(line, message);
                return;
            }
        }
        if let Some((_, instead)) = REFUSED.iter().find(|(refused, _)| *refused == kind) {
            sink.wrong_hint(kind_line, format!("the kind `{kind}` is not supported"), *instead);
            return;
        }
        match kind.as_str() {
            known if kinds.contains(&known) => self.of_kind(sink, node, known),
            _ => {
                // What is left out is removed from the app: a kind that is only misspelled must not be.
                match suggest::closest(&kind, kinds).as_slice() {
                    [] => {
                        let message = format!("the kind `{kind}` is not known, and this document is left out");
                        sink.warn_hint(kind_line, message, one_of(&kinds));
                    }
                    near @ [meant, ..] => {
                        let hint = format!("did you mean {}?", suggest::or_list(near));
                        sink.wrong_hint(kind_line, format!("the kind `{kind}` is not known"), hint);
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
        let name = metadata.need("name", "name it with `metadata:` and `name: NAME` below it");
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
                // What is there and cannot be read may name something; what is not there names nothing.
                _ if !fields.is_unreadable("spec") => {}
                UnitKind::Package => self.lost.archives.push(name),
                UnitKind::Function => self.lost.packages.push(name),
                _ => {}
            }
            fields.missing("spec", "say what it is made of with `spec:`");
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

    /// Notes where an object is, and tells when there is another one of its name.
    pub fn seen_at(&mut self, sink: &Sink<'_>, kind: &'static str, called: &str, name: &str, line: u64) {
        let place = sink.place(line);
        if let Some(earlier) = self.seen.get(&(kind, name.to_owned())) {
            let message = format!("{called} `{name}` is there twice, first at {earlier}");
            sink.wrong_hint(line, message, "keep one of them, or give one another name");
            return;
        }
        self.seen.insert((kind, name.to_owned()), place);
    }

    /// The namespace of an object, or the one in which something that it names (`what`) is.
    pub fn namespace(&mut self, sink: &Sink<'_>, namespace: &str, line: u64, what: Option<&str>) {
        if namespace.is_empty() {
            return;
        }
        match &self.namespace {
            None => {
                if namespace != super::NO_APP
                    && let Err(error) = namespace.parse::<AppName>()
                {
                    sink.wrong(line, format!("`namespace` is the name of an app: {error}"));
                }
                self.namespace = Some((namespace.to_owned(), sink.place(line)));
            }
            Some((known, _)) if known == namespace => {}
            Some((known, place)) => {
                let whose = what.map(|what| format!("{what} is in ")).unwrap_or_default();
                let message = format!("{whose}namespace `{namespace}`, and at {place} it is `{known}`");
                sink.wrong_hint(line, message, "a namespace is an app: keep the specs of each in a folder of its own");
            }
        }
    }

    fn deployment_config(&mut self, sink: &Sink<'_>, node: Node) {
        let line = node.line;
        let mut fields = Fields::read(sink, node, line, "the DeploymentConfig", &DEPLOYMENT_KEYS);
        note_whole_metadata(&mut fields);
        let name = fields.need("name", "it is how people call this deployment");
        let uid = fields.need("uid", "`milepost spec init` writes one; it tells this folder from others");
        if let Some(place) = &self.config {
            let message = format!("there is another DeploymentConfig, at {place}");
            sink.wrong_hint(line, message, "a folder is one deployment: keep one of them");
            return;
        }
        self.config = Some(sink.place(line));
        let (Some((name, _)), Some((id, uid_line))) = (name, uid) else { return };
        if id.trim().is_empty() {
            sink.wrong_hint(uid_line, "the `uid` of the DeploymentConfig is empty", "`milepost spec init` writes one");
        }
        self.deployment = Some(Deployment { id, name });
    }
}

/// The text under a key, and the line of the key. What is told not to be text is read all the same, where it is plain what was
/// meant.
fn text_of(sink: &Sink<'_>, entries: &[(Key, Node)], key: &str) -> Option<(String, u64)> {
    let (key, node) = case::find(entries, key)?;
    let text = text(sink, node.clone(), &format!("`{}` of a document", key.text))?;
    Some((text, key.line))
}

/// The kind of a document, and its line. When it is missing, that is told, and it is what the rest looks like: a document is
/// read even so.
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

/// By what only one kind has.
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

/// What a key of a map has, or of a list that should be a map.
fn value_of<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.content {
        Content::Map(entries) => case::find(entries, key).map(|(_, value)| value),
        Content::List(items) => items.iter().find_map(|item| value_of(item, key)),
        Content::Null | Content::Scalar(..) => None,
    }
}

/// What Kubernetes does with an object, and nobody here.
fn note_metadata(metadata: &mut Fields<'_>, what: &str) {
    for key in ["finalizers", "generateName", "ownerReferences"] {
        if let Some(node) = metadata.take_set(key) {
            let message = format!("`{key}` of {what} is not carried over");
            metadata.sink().note(node.line, message, "there is no Kubernetes that could read it");
        }
    }
}

/// The metadata of a document that is no object, and has its name elsewhere.
pub fn note_whole_metadata(fields: &mut Fields<'_>) {
    if let Some(node) = fields.take_set("metadata") {
        let message = format!("`metadata` of {} is not carried over", fields.what());
        fields.sink().note(node.line, message, "only its `name` is read, and it stands beside `kind`");
    }
}

/// The state of a build is no specification; its log is somebody's text.
fn note_build_log(fields: &mut Fields<'_>, what: &str) {
    let Some(Node { content: Content::Map(status), .. }) = fields.take("status") else { return };
    if let Some((key, _)) = case::find(&status, "buildlog").filter(|(_, node)| node.says_something()) {
        let message = format!("`buildlog` of {what} is not carried over");
        fields.sink().note(key.line, message, "`milepost build log` has the logs of builds that ran here");
    }
}

/// A name, told when it cannot be one. `before`: what an error begins with.
pub fn unit_name(sink: &Sink<'_>, kind: UnitKind, text: &str, line: u64, before: &str) -> Option<UnitName> {
    UnitName::for_kind(kind, text).map_err(|error| sink.wrong(line, format!("{before}{error}"))).ok()
}

fn one_of(kinds: &[&str]) -> String {
    format!("the kinds are {}", super::super::yaml::quoted(kinds))
}
