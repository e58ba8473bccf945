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
const RUNTIME_KEYS: [&str; 6] =
    ["image", "container", "podspec", "loadendpointport", "loadendpointpath", "functionendpointport"];
const BUILDER_KEYS: [&str; 4] = ["image", "command", "container", "podspec"];
/// A builder's own program: what it does, the convention does.
const OWN_BUILD: &str = "build";
const IMAGES: &str = "the images are `fission/python-env`, `fission/node-env` and `fission/binary-env`, with any tag";

impl Reader<'_> {
    pub fn environment(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let mut runtime = spec.inner("runtime", &RUNTIME_KEYS);
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
                note_tag(sink, &what, &image, line);
                let found = runtime_of(&image);
                if found.is_none() {
                    let message = format!("`image` of {what}: Milepost has no runtime for `{image}`");
                    sink.wrong_hint(line, message, IMAGES);
                }
                found
            }
        };
        runtime.note_rest(&RUNTIME_KEYS, "Milepost runs no containers");
        let mut builder = spec.inner("builder", &BUILDER_KEYS);
        warn_unsupported(&mut builder, &["container", "podspec"], "Milepost runs no containers");
        let command = command(builder.text("command"));
        if let Some((image, line)) = builder.text_at("image").filter(|(image, _)| !image.is_empty()) {
            note_tag(sink, &format!("`builder` of {what}"), &image, line);
        }
        builder.note_rest(&BUILDER_KEYS, "Milepost runs no containers");
        warn_unsupported(&mut spec, &["resources"], "give them to the functions themselves");
        warn_unsupported(&mut spec, &["podspec", "imagepullsecret"], "Milepost runs no containers");
        warn_unsupported(&mut spec, &["keeparchive"], "archives are always unpacked");
        // It says how Fission talks to the environment.
        drop(spec.take("version"));
        spec.note_rest(&KEYS, "instances are started and stopped by the requests that wait");
        let Some(name) = name else { return };
        let spec = EnvironmentSpec {
            runtime: known.unwrap_or(Runtime::Python),
            interpreter: String::new(),
            builder: command.unwrap_or_default(),
        };
        self.add(name, UnitPut::Environment(spec), Vec::new(), sink.place(line));
    }
}

/// Which registry it comes from, and which build of it a tag or a digest names, does not count: the runtime is the server's own.
fn runtime_of(image: &str) -> Option<Runtime> {
    let name = image.rsplit('/').next().unwrap_or(image);
    let known = [("python-env", Runtime::Python), ("node-env", Runtime::Node), ("binary-env", Runtime::Binary)];
    known.into_iter().find(|(known, _)| name.starts_with(known)).map(|(_, runtime)| runtime)
}

/// A tag or a digest says which build of an image is meant, and often which version of the language.
fn note_tag(sink: &Sink<'_>, what: &str, image: &str, line: u64) {
    let name = image.rsplit('/').next().unwrap_or(image);
    let tag = name.split_once('@').or_else(|| name.split_once(':')).map(|(_, tag)| tag);
    if let Some(tag) = tag.filter(|tag| *tag != "latest" && !tag.is_empty()) {
        let hint =
            "the runtime is the server's own; `interpreter` of an environment in milepost.yaml names a version of it";
        sink.note(line, format!("the tag `{tag}` of the image of {what} is not carried over"), hint);
    }
}

/// A build command that is more than the builder's own.
pub fn command(given: Option<String>) -> Option<String> {
    given.filter(|command| !command.trim().is_empty() && command.trim() != OWN_BUILD)
}
