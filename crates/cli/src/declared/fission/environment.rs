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

use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::unit_put::UnitPut;

use super::super::problems::Sink;
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
        warn_unsupported(&mut runtime, &["container", "podspec"], "Milepost runs no containers");
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
            interpreter: if known == Some(Runtime::Binary) { "stdio".to_owned() } else { String::new() },
            builder: command.unwrap_or_default(),
        };
        self.add(name, UnitPut::Environment(spec), Vec::new(), sink.place(line));
    }
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

/// A build command that is more than the builder's own.
pub fn command(given: Option<String>) -> Option<String> {
    given.filter(|command| !command.trim().is_empty() && command.trim() != OWN_BUILD)
}
