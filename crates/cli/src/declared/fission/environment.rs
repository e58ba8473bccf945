//! `Environment`: a container image there, a runtime here.
//!
//! | image | runtime |
//! |---|---|
//! | `fission/python-env…` | `python` |
//! | `fission/node-env…` | `node` |
//! | `fission/binary-env…` | `binary` |
//!
//! Registry and tag do not count. The builder's image says nothing that Milepost needs, and its usual command, `build`, is the
//! convention of the runtime.

use std::collections::BTreeMap;

use milepost_model::spec::{EnvironmentSpec, Runtime, STDIO};
use milepost_model::unit_put::UnitPut;

use super::super::checks;
use super::super::problems::Sink;
use super::super::yaml::Fields;
use super::Reader;
use super::document::Object;
use super::function::warn_unsupported;

pub const KEYS: [&str; 11] = [
    "version",
    "runtime",
    "builder",
    "poolsize",
    "resources",
    "keeparchive",
    "allowAccessToExternalNetwork",
    "allowedFunctionsPerContainer",
    "terminationGracePeriod",
    "imagepullsecret",
    "podspec",
];
pub const RUNTIME_KEYS: [&str; 6] =
    ["image", "container", "podspec", "loadendpointport", "loadendpointpath", "functionendpointport"];
/// What a container can say; only `env` is carried over.
const CONTAINER_KEYS: [&str; 20] = [
    "name",
    "image",
    "imagePullPolicy",
    "command",
    "args",
    "env",
    "envFrom",
    "ports",
    "resources",
    "volumeMounts",
    "volumeDevices",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "securityContext",
    "workingDir",
    "tty",
    "stdin",
    "terminationMessagePath",
];
/// What a pod can say besides its containers. Folders that ran on Kubernetes have these, so they are warned of and not refused.
const POD_KEYS: [&str; 39] = [
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "os",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];
pub const BUILDER_KEYS: [&str; 4] = ["image", "command", "container", "podspec"];
/// A builder's own program: what it does, the convention does.
const OWN_BUILD: &str = "build";
const RUNTIMES: [(&str, Runtime); 3] =
    [("python-env", Runtime::Python), ("node-env", Runtime::Node), ("binary-env", Runtime::Binary)];
/// What these do, the convention of the runtime does.
const BUILDERS: [&str; 3] = ["python-builder", "node-builder", "binary-builder"];
/// Where Fission's own images come from.
const REGISTRIES: [&str; 5] = ["", "fission", "docker.io/fission", "index.docker.io/fission", "ghcr.io/fission"];
const IMAGES: &str = "the images are `fission/python-env`, `fission/node-env` and `fission/binary-env`, with any tag";

impl Reader<'_> {
    pub fn environment(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let mut runtime = spec.inner_short("runtime", &RUNTIME_KEYS, "image");
        let runtime_line = runtime.line;
        let variables = variables(&mut runtime);
        let image = runtime.text_at("image").filter(|(image, _)| !image.is_empty());
        let known = match image {
            None => {
                if !runtime.is_unreadable("image") && !spec.is_unreadable("runtime") {
                    sink.wrong_hint(runtime_line, format!("{what} has no image"), IMAGES);
                }
                None
            }
            Some((image, line)) => {
                let found = runtime_of(&image);
                if found.is_some() {
                    note_image(sink, &what, &image, line, &RUNTIMES.map(|(name, _)| name));
                }
                if found.is_none() {
                    let message = format!("`image` of {what}: Milepost has no runtime for `{image}`");
                    sink.wrong_hint(line, message, IMAGES);
                }
                found
            }
        };
        runtime.note_rest(&RUNTIME_KEYS, "Milepost runs no containers");
        let mut builder = spec.inner_short("builder", &BUILDER_KEYS, "image");
        warn_unsupported(&mut builder, &["container", "podspec"], "Milepost runs no containers");
        let command = command(builder.text("command"));
        if let Some((image, line)) = builder.text_at("image").filter(|(image, _)| !image.is_empty()) {
            note_image(sink, &format!("`builder` of {what}"), &image, line, &BUILDERS);
        }
        builder.note_rest(&BUILDER_KEYS, "Milepost runs no containers");
        warn_unsupported(&mut spec, &["resources"], "give them to the functions themselves");
        warn_unsupported(&mut spec, &["podspec", "imagepullsecret"], "Milepost runs no containers");
        warn_unsupported(&mut spec, &["keeparchive"], "archives are always unpacked");
        if let Some(version) = spec.take_set("version") {
            let message = format!("`version` of {what} is not carried over");
            sink.note(
                version.line,
                message,
                "it says how Fission talks to an environment, and nothing of the language",
            );
        }
        spec.note_rest(&KEYS, "instances are started and stopped by the requests that wait");
        let Some(name) = name else { return };
        let spec = EnvironmentSpec {
            runtime: known.unwrap_or(Runtime::Python),
            // Fission runs a binary once for each request.
            interpreter: if known == Some(Runtime::Binary) { STDIO.to_owned() } else { String::new() },
            builder: command.unwrap_or_default(),
            variables,
        };
        self.add(name, UnitPut::Environment(spec), Vec::new(), sink.place(line));
    }
}

/// The literal variables of `container` and of the containers of `podspec`; of those with one name the last is taken.
fn variables(runtime: &mut Fields<'_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some(node) = runtime.take_set("container") {
        let line = node.line;
        let what = runtime.of("container");
        container(Fields::read(runtime.sink(), node, line, &what, &CONTAINER_KEYS), &mut found);
    }
    if let Some(node) = runtime.take_set("podspec") {
        let line = node.line;
        let what = runtime.of("podspec");
        let known = [&POD_KEYS[..], &["containers"]].concat();
        let mut pod = Fields::read(runtime.sink(), node, line, &what, &known);
        for node in pod.list("containers", "write each container as `- name: NAME` with its `env:`") {
            let line = node.line;
            container(Fields::read(runtime.sink(), node, line, &what, &CONTAINER_KEYS), &mut found);
        }
        warn_unsupported(&mut pod, &POD_KEYS, "Milepost runs no containers");
    }
    found
}

fn container(mut container: Fields<'_>, found: &mut BTreeMap<String, String>) {
    const HINT: &str = "name the secrets and configmaps in the functions that read them";
    let what = container.of("env");
    for node in container.list("env", "write each as `- name: NAME` and `value: VALUE`") {
        let line = node.line;
        let mut entry = Fields::read(container.sink(), node, line, &what, &["name", "value", "valueFrom"]);
        let name = entry.need("name", "name the variable with `name: NAME`");
        warn_unsupported(&mut entry, &["valueFrom"], HINT);
        let (Some((name, line)), Some(value)) = (name, entry.text("value")) else { continue };
        match checks::variable(&name) {
            Some(error) => container.sink().wrong(line, format!("{what}: {error}")),
            None => drop(found.insert(name, value)),
        }
    }
    warn_unsupported(&mut container, &["envFrom"], HINT);
    container.note_rest(&CONTAINER_KEYS, "Milepost runs no containers");
}

/// Which registry it comes from, and which build of it a tag or a digest names, does not count: the runtime is the server's own.
fn runtime_of(image: &str) -> Option<Runtime> {
    let name = image.rsplit('/').next().unwrap_or(image);
    RUNTIMES.into_iter().find(|(known, _)| name.starts_with(known)).map(|(_, runtime)| runtime)
}

/// Notes what an image says that is not carried over: that it is none of Fission's own, which of its variants it is, and its tag,
/// which often tells the version of the language.
fn note_image(sink: &Sink<'_>, what: &str, image: &str, line: u64, usual: &[&str]) {
    const HINT: &str =
        "the runtime is the server's own; `interpreter` of an environment in milepost.yaml names a version of it";
    let (registry, name) = image.rsplit_once('/').unwrap_or(("", image));
    let (name, tag) = name.split_once('@').or_else(|| name.split_once(':')).unwrap_or((name, ""));
    if !REGISTRIES.contains(&registry) || !usual.contains(&name) {
        sink.note(line, format!("the image `{image}` of {what} is not carried over"), HINT);
    } else if tag != "latest" && !tag.is_empty() {
        sink.note(line, format!("the tag `{tag}` of the image of {what} is not carried over"), HINT);
    }
}

/// Whether an image is Fission's for programs that run once per request.
pub fn runs_once_per_request(image: &str) -> bool {
    runtime_of(image) == Some(Runtime::Binary)
}

/// The build command that `--builder` names. Fission's command line takes a builder image there, which stands for the
/// convention of the runtime.
pub fn builder_command(given: &str) -> Option<String> {
    let name = given.rsplit('/').next().unwrap_or(given);
    let is_image = BUILDERS.iter().any(|builder| name.starts_with(builder)) && !given.contains(char::is_whitespace);
    command(Some(given.to_owned()).filter(|_| !is_image))
}

/// A build command that is more than the builder's own.
pub fn command(given: Option<String>) -> Option<String> {
    given.filter(|command| !command.trim().is_empty() && command.trim() != OWN_BUILD)
}
