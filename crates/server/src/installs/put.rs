//! Installs a published version in an app: fetch, stage, and one change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::{Stream, StreamExt};
use milepost_catalog::{ChangeInput, VersionInput};
use milepost_channels::{ChannelError, Source};
use milepost_model::channel::{Artifact, Entry, PackageName};
use milepost_model::install::{Health, no_health_function};
use milepost_model::unit_put::{Put, SecretPut};
use milepost_model::{AppName, Code, Next, Refusal, UnitName, UnitPut};
use serde_json::Value;

use super::problem::Problem;
use crate::checks::interpreters;
use crate::content::change::{seal, trees_of};
use crate::content::{artifacts, named_files, trees};
use crate::state::State;

/// Fetches and verifies the artifact of a version and stores its files. Does not change the app.
pub(super) async fn fetch(state: &State, app: &AppName, source: &Source, entry: &Entry) -> Result<Artifact, Problem> {
    let bytes = source.artifact(entry).await?;
    // Keeps the channel's error, which is more specific than the resulting truncation.
    let caught: Arc<Mutex<Option<Problem>>> = Arc::default();
    let catching = Arc::clone(&caught);
    let bytes = bytes.map(move |chunk| {
        chunk.map_err(|error: ChannelError| {
            let text = std::io::Error::other(error.to_string());
            *catching.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.into());
            text
        })
    });
    let staged = stage(state, app, bytes, entry).await;
    let problem = caught.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (staged, problem) {
        (Err(_), Some(problem)) => Err(problem),
        (staged, _) => staged,
    }
}

pub(super) async fn stage<S, E>(state: &State, app: &AppName, bytes: S, entry: &Entry) -> Result<Artifact, Problem>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let digest = entry.id.digest().ok_or_else(|| Problem::from(ChannelError::NoDigest(entry.version.clone())))?;
    Ok(artifacts::stage(&state.content, app, bytes, digest).await?)
}

/// Everything needed to install a version.
pub(super) struct Wanted<'a> {
    pub app: &'a AppName,
    pub package: &'a PackageName,
    pub entry: &'a Entry,
    pub overrides: &'a Value,
    /// The health check of the version.
    pub health: Option<&'a Health>,
    pub secrets: &'a BTreeMap<UnitName, SecretPut>,
    pub actor: &'a str,
    pub forced: bool,
}

/// Builds the change that turns the app into the artifact's content, with the same checks as any
/// other change.
pub(super) async fn version(state: &State, artifact: &Artifact, wanted: Wanted<'_>) -> Result<VersionInput, Problem> {
    check_health(artifact, &wanted)?;
    let inputs = artifact.inputs.clone();
    if let Some(stranger) = wanted.secrets.keys().find(|name| !inputs.contains(*name)) {
        let names: Vec<String> = inputs.iter().map(ToString::to_string).collect();
        let message = format!("{} {} does not use the secret `{stranger}`", wanted.package, wanted.entry.version);
        let otherwise = match names.as_slice() {
            [] => "remove it: the app uses no secrets".to_owned(),
            names => format!("its secrets are {}", names.join(", ")),
        };
        let otherwise = [Next::Correct { how: otherwise }];
        return Err(Refusal::not_found(Code::InvalidRequest, message, stranger.as_str(), &names, otherwise).into());
    }
    let mut change = VersionInput::change(wanted.package, wanted.entry, &inputs);
    change.puts = artifact.puts(wanted.overrides);
    let config = artifact.config();
    change.puts.extend(wanted.secrets.iter().map(|(name, secret)| secret_put(name, secret)));
    trees::check(&state.content, trees_of(&change)).await?;
    named_files::check(&state.store, &change).await?;
    interpreters::check(state, wanted.app, &change).await?;
    let secrets = seal(&state.keyring, wanted.app, &change)?;
    let change = ChangeInput { change, secrets, actor: wanted.actor.to_owned(), idempotency_key: None };
    Ok(VersionInput {
        entry: wanted.entry.clone(),
        change,
        config,
        inputs,
        forced: wanted.forced,
        checking: state.checks.by_anyone(),
    })
}

/// Refuses a health check with a missing function: the version could never become healthy.
fn check_health(artifact: &Artifact, wanted: &Wanted<'_>) -> Result<(), Problem> {
    let Some(Health::Function(name)) = wanted.health else { return Ok(()) };
    let functions = artifact.units.iter().filter(|put| matches!(put.unit, UnitPut::Function(_)));
    let functions: Vec<String> = functions.map(|put| put.name.to_string()).collect();
    if functions.iter().any(|function| function == name.as_str()) {
        return Ok(());
    }
    let whose = format!("{} {}", wanted.package, wanted.entry.version);
    Err(Problem::from(no_health_function(&whose, name, &functions)).of_kind("no_health_function"))
}

fn secret_put(name: &UnitName, secret: &SecretPut) -> Put {
    let unit = UnitPut::Secret(secret.clone());
    Put { name: name.clone(), label: None, description: None, group: None, force: false, only: None, unit }
}
