//! One document: its kind, its name and its namespace.

use milepost_model::change::Deployment;
use milepost_model::{AppName, UnitKind, UnitName, suggest};

use super::super::problems::Sink;
use super::super::yaml::{Content, Fields, Node};
use super::Reader;

const API_VERSION: &str = "fission.io/v1";
const KEYS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
const DEPLOYMENT_KEYS: [&str; 5] = ["apiVersion", "kind", "metadata", "name", "uid"];
/// What Kubernetes and its tools keep there, besides name and namespace.
const METADATA_KEYS: [&str; 14] = [
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
    pub fn document(&mut self, sink: &Sink<'_>, node: Node) {
        let line = node.line;
        let Content::Map(entries) = &node.content else {
            let message = format!("a document must be a map of keys, not {}", node.kind());
            sink.wrong_hint(line, message, "begin it with `apiVersion: fission.io/v1` and `kind: Function`");
            self.lost.documents = true;
            return;
        };
        let written = |key: &str| {
            entries.iter().find(|(found, _)| found.text == key).and_then(|(key, value)| match &value.content {
                Content::Scalar(_, text) => Some((text.clone(), key.line)),
                _ => None,
            })
        };
        let kinds = KINDS.map(|(kind, _)| kind);
        let Some((kind, kind_line)) = written("kind") else {
            let near = entries.iter().any(|(key, _)| !suggest::closest(&key.text, ["kind"]).is_empty());
            let hint = if near { "did you mean `kind`?".to_owned() } else { one_of(&kinds) };
            sink.wrong_hint(line, "this document has no `kind`", hint);
            self.lost.documents = true;
            return;
        };
        if let Some((version, line)) = written("apiVersion").filter(|(version, _)| version != API_VERSION) {
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
            "ArchiveUploadSpec" => self.archive(sink, node),
            "DeploymentConfig" => self.deployment_config(sink, node),
            "Function" | "Package" | "Environment" | "HTTPTrigger" | "TimeTrigger" => self.object(sink, node, &kind),
            _ => {
                // What is left out is removed from the app: a kind that is only misspelled must not be.
                let near = suggest::closest(&kind, kinds);
                if near.is_empty() {
                    sink.warn_hint(
                        kind_line,
                        format!("the kind `{kind}` is not known, and this document is left out"),
                        one_of(&kinds),
                    );
                } else {
                    let hint = format!("did you mean {}?", suggest::or_list(&near));
                    sink.wrong_hint(kind_line, format!("the kind `{kind}` is not known"), hint);
                    self.lost.documents = true;
                }
            }
        }
    }

    fn object(&mut self, sink: &Sink<'_>, node: Node, kind: &str) {
        let line = node.line;
        let called = KINDS.iter().find(|(known, _)| *known == kind).map_or(kind, |(_, called)| called);
        let name = name_of(&node).unwrap_or_default();
        let what = if name.is_empty() { format!("a {called}") } else { format!("{called} `{name}`") };
        let mut fields = Fields::read(sink, node, line, &what, &KEYS);
        let mut metadata = fields.inner("metadata", &METADATA_KEYS);
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
        let unit_kind = match kind {
            "Function" => UnitKind::Function,
            "Package" => UnitKind::Package,
            "Environment" => UnitKind::Environment,
            "HTTPTrigger" => UnitKind::Route,
            _ => UnitKind::Timer,
        };
        let name = name.and_then(|(name, line)| {
            self.seen_at(sink, unit_kind.as_str(), called, &name, line);
            unit_name(sink, unit_kind, &name, line, "")
        });
        let Some(spec) = fields.take("spec") else {
            self.lost.archives |= kind == "Package";
            self.lost.packages |= kind == "Function";
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
        let name = fields.need("name", "it is how people call this deployment");
        let uid = fields.need("uid", "`milepost spec init` writes one; it tells this folder from others");
        if let Some((_, place)) = &self.deployment {
            let message = format!("there is another DeploymentConfig, at {place}");
            sink.wrong_hint(line, message, "a folder is one deployment: keep one of them");
            return;
        }
        let (Some((name, _)), Some((id, uid_line))) = (name, uid) else { return };
        if id.trim().is_empty() {
            sink.wrong_hint(uid_line, "the `uid` of the DeploymentConfig is empty", "`milepost spec init` writes one");
        }
        self.deployment = Some((Deployment { id, name }, sink.place(line)));
    }
}

fn name_of(node: &Node) -> Option<String> {
    let get = |node: &Node, key: &str| match &node.content {
        Content::Map(entries) => entries.iter().find(|(found, _)| found.text == key).map(|(_, value)| value.clone()),
        _ => None,
    };
    match get(&get(node, "metadata")?, "name")?.content {
        Content::Scalar(_, name) => Some(name),
        _ => None,
    }
}

/// A name, told when it cannot be one. `before`: what an error begins with.
pub fn unit_name(sink: &Sink<'_>, kind: UnitKind, text: &str, line: u64, before: &str) -> Option<UnitName> {
    UnitName::for_kind(kind, text).map_err(|error| sink.wrong(line, format!("{before}{error}"))).ok()
}

fn one_of(kinds: &[&str]) -> String {
    format!("the kinds are {}", super::super::yaml::quoted(kinds))
}
