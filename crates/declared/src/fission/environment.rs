//! Reads `Environment`: maps Fission's container images to runtimes.
//!
//! | image | runtime |
//! |---|---|
//! | `fission/python-env…` | `python` |
//! | `fission/node-env…` | `node` |
//! | `fission/binary-env…` | `binary` |
//!
//! Registry and tag are ignored. The image of the builder is not needed, and its usual command,
//! `build`, is left to the convention of the runtime.

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
/// The keys of a container. Only `env` is imported.
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
/// Keys of a pod besides its containers. They are valid on Kubernetes, so a folder with them gets a
/// warning instead of an error.
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
/// The default command of Fission's builders, which the convention replaces.
const OWN_BUILD: &str = "build";
const RUNTIMES: [(&str, Runtime); 3] =
    [("python-env", Runtime::Python), ("node-env", Runtime::Node), ("binary-env", Runtime::Binary)];
/// Fission's builder images, which the convention replaces.
const BUILDERS: [&str; 3] = ["python-builder", "node-builder", "binary-builder"];
/// The registries of Fission's own images.
const REGISTRIES: [&str; 5] = ["", "fission", "docker.io/fission", "index.docker.io/fission", "ghcr.io/fission"];
const IMAGES: &str =
    "supported images are `fission/python-env`, `fission/node-env` and `fission/binary-env`, with any tag";

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
        runtime.note_rest(&RUNTIME_KEYS, "Milepost does not run containers");
        let mut builder = spec.inner_short("builder", &BUILDER_KEYS, "image");
        warn_unsupported(&mut builder, &["container", "podspec"], "Milepost does not run containers");
        let command = command(builder.text("command"));
        if let Some((image, line)) = builder.text_at("image").filter(|(image, _)| !image.is_empty()) {
            note_image(sink, &format!("`builder` of {what}"), &image, line, &BUILDERS);
        }
        builder.note_rest(&BUILDER_KEYS, "Milepost does not run containers");
        warn_unsupported(&mut spec, &["resources"], "set them on the functions");
        warn_unsupported(&mut spec, &["podspec", "imagepullsecret"], "Milepost does not run containers");
        warn_unsupported(&mut spec, &["keeparchive"], "archives are always unpacked");
        if let Some(version) = spec.take_set("version") {
            let message = format!("`version` of {what} is not carried over");
            sink.note(version.line, message, "it is the version of Fission's interface, not of the language");
        }
        spec.note_rest(&KEYS, "Milepost scales instances by the number of waiting requests");
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

/// The literal variables of `container` and of the containers of `podspec`. The last one wins if a
/// name occurs twice.
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
        warn_unsupported(&mut pod, &POD_KEYS, "Milepost does not run containers");
    }
    found
}

fn container(mut container: Fields<'_>, found: &mut BTreeMap<String, String>) {
    const HINT: &str = "list the secrets and configmaps in the functions that read them";
    let what = container.of("env");
    for node in container.list("env", "write each as `- name: NAME` and `value: VALUE`") {
        let line = node.line;
        let mut entry = Fields::read(container.sink(), node, line, &what, &["name", "value", "valueFrom"]);
        let name = entry.need("name", "add the name of the variable with `name: NAME`");
        warn_unsupported(&mut entry, &["valueFrom"], HINT);
        let (Some((name, line)), Some(value)) = (name, entry.text("value")) else { continue };
        match checks::variable(&name) {
            Some(error) => container.sink().wrong(line, format!("{what}: {error}")),
            None => drop(found.insert(name, value)),
        }
    }
    warn_unsupported(&mut container, &["envFrom"], HINT);
    container.note_rest(&CONTAINER_KEYS, "Milepost does not run containers");
}

/// Ignores registry, tag and digest, because the server has its own runtimes.
fn runtime_of(image: &str) -> Option<Runtime> {
    let name = image.rsplit('/').next().unwrap_or(image);
    RUNTIMES.into_iter().find(|(known, _)| name.starts_with(known)).map(|(_, runtime)| runtime)
}

/// Adds a note for what is lost from an image: that it is not one of Fission's, its variant, and
/// its tag, which often contains the language version.
fn note_image(sink: &Sink<'_>, what: &str, image: &str, line: u64, usual: &[&str]) {
    const HINT: &str =
        "Milepost has its own runtimes; choose a version with `interpreter` of an environment in milepost.yaml";
    let (registry, name) = image.rsplit_once('/').unwrap_or(("", image));
    let (name, tag) = name.split_once('@').or_else(|| name.split_once(':')).unwrap_or((name, ""));
    if !REGISTRIES.contains(&registry) || !usual.contains(&name) {
        sink.note(line, format!("the image `{image}` of {what} is not carried over"), HINT);
    } else if tag != "latest" && !tag.is_empty() {
        sink.note(line, format!("the tag `{tag}` of the image of {what} is not carried over"), HINT);
    }
}

/// Whether this is Fission's image for programs that run once for each request.
pub fn runs_once_per_request(image: &str) -> bool {
    runtime_of(image) == Some(Runtime::Binary)
}

/// The build command from `--builder`. Fission's command line expects a builder image there, which
/// stands for the convention of the runtime.
pub fn builder_command(given: &str) -> Option<String> {
    let name = given.rsplit('/').next().unwrap_or(given);
    let is_image = BUILDERS.iter().any(|builder| name.starts_with(builder)) && !given.contains(char::is_whitespace);
    command(Some(given.to_owned()).filter(|_| !is_image))
}

/// A build command other than the default.
pub fn command(given: Option<String>) -> Option<String> {
    given.filter(|command| !command.trim().is_empty() && command.trim() != OWN_BUILD)
}
