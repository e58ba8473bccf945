//! Runtimes are environments. The image names an interpreter installed on this server.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod pool;
pub(crate) mod update;

use milepost_catalog::V1Unit;
use milepost_model::change::UnitKey;
use milepost_model::snapshot::Version;
use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::{Selector, UnitKind};
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result};
use super::names::{opt_time, time};
use crate::checks::interpreters;
use crate::error::internal;
use crate::state::State;

pub(crate) const FIELDS: [&str; 9] =
    ["id", "name", "image", "status", "description", "is_public", "trusted", "created_at", "updated_at"];

/// The fact that marks a copy of another project's runtime, with that runtime's id.
pub(crate) const COPY_OF: &str = "copy_of";

fn show(unit: &V1Unit, spec: &EnvironmentSpec, status: &str) -> Map<String, Value> {
    let facts = &unit.facts;
    let made_here = facts.get("image").is_some();
    let object = json!({
        "id": unit.id,
        "name": if made_here { facts["name"].clone() } else { json!(unit.name) },
        "image": if made_here { facts["image"].clone() } else { json!(spec.runtime.to_string()) },
        "status": status,
        "description": facts["description"],
        "is_public": facts["is_public"] == true,
        "trusted": facts["trusted"] != false,
        "project_id": unit.app,
        "created_at": time(unit.created_at),
        "updated_at": opt_time(unit.updated_at),
    });
    object.as_object().cloned().unwrap_or_default()
}

fn not_for_all() -> Fault {
    Fault::forbidden(
        "Operation not allowed: a runtime that is public is for all projects, so only an administrator of all projects makes \
         one. Use is_public=false, or a token for all projects.",
    )
}

/// The current spec of the environment.
pub(crate) async fn spec_of(state: &State, unit: &V1Unit) -> V1Result<EnvironmentSpec> {
    let key = UnitKey { kind: UnitKind::Environment, name: unit.name.clone() };
    let version = state.catalog.version_get(&unit.app, key, Selector::Latest).await?;
    read_spec(&version)
}

fn read_spec(version: &Version) -> V1Result<EnvironmentSpec> {
    Ok(serde_json::from_value(version.spec.clone()).map_err(|error| internal(&error))?)
}

/// The environment for an image. Fails if its interpreter is not installed here.
async fn available(state: &State, image: &str) -> V1Result<EnvironmentSpec> {
    let spec = environment(image)?;
    match interpreters::lacking(state, &spec).await {
        None => Ok(spec),
        Some(lacks) => Err(Fault::bad(format!("The image {image} is not supported: {lacks}."))),
    }
}

/// The environment for an image.
fn environment(image: &str) -> V1Result<EnvironmentSpec> {
    let last = image.rsplit('/').next().unwrap_or(image);
    let (name, tag) = last.split_once(':').unwrap_or((last, ""));
    let lower = name.to_ascii_lowercase();
    let runtime = if lower.starts_with("python") {
        Runtime::Python
    } else if lower.starts_with("node") {
        Runtime::Node
    } else {
        return Err(Fault::bad(format!(
            "The image {image} is not supported. This server runs images of Python and Node.js: their name, after the last \
             slash, begins with \"python\" or \"node\", for example python, openstackqinling/python3-runtime, \
             node or openstackqinling/nodejs-runtime."
        )));
    };
    // Tags of other images are versions of the image, not of the interpreter.
    let is_plain = lower == "python" || lower == "node";
    let digits: String = tag.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    let interpreter = if is_plain { digits.trim_end_matches('.').to_owned() } else { String::new() };
    Ok(EnvironmentSpec { runtime, interpreter, builder: String::new(), variables: std::collections::BTreeMap::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_interpreters_from_images() {
        let check = |image: &str, runtime: Runtime, interpreter: &str| {
            let found = environment(image).expect("a known image");
            assert_eq!((found.runtime, found.interpreter.as_str()), (runtime, interpreter), "{image}");
        };
        check("python", Runtime::Python, "");
        check("docker.io/library/python:3.11-slim", Runtime::Python, "3.11");
        check("openstackqinling/python3-runtime:0.0.2", Runtime::Python, "");
        check("openstackqinling/nodejs-runtime", Runtime::Node, "");
        check("node:20", Runtime::Node, "20");
        assert!(environment("nginx").is_err());
    }
}
