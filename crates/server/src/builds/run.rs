//! One build request, from lookup to the recorded result.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use milepost_catalog::NewBuild;
use milepost_model::build::{self, BuildEvent, BuildRequest, TELLING_FILES};
use milepost_model::tree::Tree;
use milepost_model::{AppName, Code, Digest, Next, Refusal};
use milepost_runtime::{BuildFailure, BuildOrder, DiskLimit};
use tokio::sync::mpsc;

use super::log::{self, Listener};
use super::result;
use crate::content::checkout::{self, Access};
use crate::content::ingest_source;
use crate::content::trees;
use crate::error::{ApiError, ApiResult, internal};
use crate::phrase;
use crate::state::State;

/// Files that determine the command are read up to this size. For a larger lock file, only its
/// presence counts.
const TELLING: u64 = 4 << 20;
const LOCK_FILE: &str = "package-lock.json";
const LINES_AHEAD: usize = 64;

/// A requested build. Its source is already on the server.
pub(crate) struct Wanted {
    pub app: AppName,
    pub request: BuildRequest,
    pub caller: String,
}

/// Finds a previous result or builds, and sends events about the progress. Dropping the future
/// cancels the build and leaves nothing behind.
pub(crate) async fn run(state: &State, wanted: Wanted, tell: mpsc::Sender<BuildEvent>) {
    let listener = Listener::new(tell);
    let last = tokio::select! {
        last = find_or_build(state, &wanted, &listener) => last,
        () = state.builds.stopping.cancelled() => Ok(failed(&BuildFailure::Stopping.to_string())),
    };
    let last = last.unwrap_or_else(|error| failed(&in_one_line(&error)));
    listener.tell_last(last).await;
}

async fn find_or_build(state: &State, wanted: &Wanted, listener: &Listener) -> ApiResult<BuildEvent> {
    let key = build::key(wanted.request.source, &wanted.request.environment, &wanted.request.command);
    if let Some(found) = known(state, wanted, key).await? {
        return Ok(found);
    }
    let mut told = false;
    let turn = state.builds.turn(&wanted.app, key);
    let _turn = match turn.try_lock() {
        Ok(turn) => turn,
        Err(_) => {
            let _waits = state.builds.waiting.join(&wanted.app)?;
            wait(listener, &mut told).await;
            turn.lock().await
        }
    };
    // The previous holder of the turn may have finished the same build.
    if let Some(found) = known(state, wanted, key).await? {
        return Ok(found);
    }
    let tree = trees::load(&state.store, wanted.request.source).await?;
    let Some(command) = command(state, &wanted.request, &tree).await? else {
        let id = state.catalog.build_id(&wanted.app).await?;
        let nothing = Over { id, key, command: String::new(), started: Started::now(state), log: None };
        return nothing.record(state, wanted, Ok(wanted.request.source)).await;
    };
    let (_place, tree) = match state.builds.places.try_acquire() {
        Ok(place) => (place, tree),
        Err(_) => {
            // Drops the tree while waiting: trees can be large, and many builds may wait.
            drop(tree);
            let _waits = state.builds.waiting.join(&wanted.app)?;
            wait(listener, &mut told).await;
            let place = state.builds.places.acquire().await.map_err(|error| internal(&error))?;
            (place, trees::load(&state.store, wanted.request.source).await?)
        }
    };
    let id = state.catalog.build_id(&wanted.app).await?;
    listener.tell(BuildEvent::Started { id: id.clone(), command: command.clone() }).await;
    let mut over = Over { id, key, command, started: Started::now(state), log: None };
    let (outcome, log) = in_room(state, wanted, &over.command, &tree, listener).await?;
    over.log = keep_log(state, &wanted.app, log).await;
    over.record(state, wanted, outcome).await
}

async fn known(state: &State, wanted: &Wanted, key: Digest) -> ApiResult<Option<BuildEvent>> {
    let BuildRequest { source, environment, command, .. } = &wanted.request;
    let former = build::former_key(*source, environment, command);
    let mut found = state.catalog.build_find(&wanted.app, key).await?;
    if found.is_none() && former != key {
        found = state.catalog.build_find(&wanted.app, former).await?;
    }
    Ok(found
        .and_then(|found| Some(BuildEvent::Done { id: Some(found.id), deployment: found.deployment?, cached: true })))
}

async fn wait(listener: &Listener, told: &mut bool) {
    if !std::mem::replace(told, true) {
        listener.tell(BuildEvent::Waiting).await;
    }
}

async fn command(state: &State, request: &BuildRequest, tree: &Tree) -> ApiResult<Option<String>> {
    let mut telling: HashMap<&str, Option<Vec<u8>>> = HashMap::new();
    // Dependencies that are already installed are not installed again.
    let installed = tree.iter().any(|(path, _)| path.starts_with("node_modules/"));
    for name in TELLING_FILES {
        let Some(file) = tree.file_at(name) else { continue };
        if installed && name == "package.json" {
            continue;
        }
        let bytes = if file.size <= TELLING {
            let row = trees::locate(&state.store, file.digest).await?;
            Some(state.blobs.read(&trees::location(&row)?, file.digest).await?.to_vec())
        } else {
            (name == LOCK_FILE).then(Vec::new)
        };
        telling.insert(name, bytes);
    }
    let too_large = Cell::new(None);
    let command = build::command(&request.command, &request.environment, |name| {
        let (name, bytes) = telling.get_key_value(name)?;
        if bytes.is_none() {
            too_large.set(Some(*name));
        }
        bytes.clone()
    });
    match too_large.get() {
        Some(name) => Err(unread(name)),
        None => Ok(command),
    }
}

/// Runs the steps that need the build's temporary directory. The outer error is not about the build
/// itself.
async fn in_room(
    state: &State,
    wanted: &Wanted,
    command: &str,
    tree: &Tree,
    listener: &Listener,
) -> ApiResult<(Result<Digest, String>, Bytes)> {
    let runtime = &state.plane.runtime;
    let room = runtime.build_room().await.map_err(|error| internal(&error))?;
    let source = room.source();
    checkout::write(&state.store, tree, &source, Access::Writable).await.map_err(|error| internal(&error))?;
    let environment = &wanted.request.environment;
    let order = BuildOrder {
        runtime: environment.runtime,
        interpreter: environment.interpreter.clone(),
        command: command.to_owned(),
        limit: state.builds.limit,
        disk: disk(state, &wanted.app).await?,
        cpu: state.builds.cpu,
        cache: Some(cache(state, &wanted.app).await?),
    };
    let (sender, lines) = mpsc::channel(LINES_AHEAD);
    let (outcome, log) = tokio::join!(runtime.build(&room, order, sender), log::pass_on(lines, listener));
    match outcome {
        Ok(()) => {}
        Err(BuildFailure::Stopping) => return Err(stopping()),
        Err(failure) => return Ok((Err(failure.to_string()), log)),
    }
    let kind = environment.runtime;
    let room = Arc::new(room);
    let reading = Arc::clone(&room);
    let read = tokio::task::spawn_blocking(move || result::read(&reading, kind));
    let made = match read.await.map_err(|error| internal(&error))? {
        Ok(made) => Arc::new(made),
        Err(reason) => return Ok((Err(reason), log)),
    };
    // The directory must exist until its files are stored.
    let root = ingest_source::store(&state.content, &wanted.app, made).await?;
    drop(room);
    match trees::check(&state.content, [root].into()).await {
        Ok(()) => Ok((Ok(root), log)),
        Err(error) => Ok((Err(in_one_line(&error)), log)),
    }
}

/// Disk space of a build per byte that the plan can still store: intermediate files take more than
/// the result.
const PER_STORED_BYTE: u64 = 4;
/// Minimum disk space of a build, even if the plan has less left.
const LEAST_DISK: u64 = 256 << 20;

async fn disk(state: &State, app: &AppName) -> ApiResult<DiskLimit> {
    let most = state.builds.disk;
    let left = state.catalog.quota_left(app).await?;
    let of_plan = left.map(|left| left.saturating_mul(PER_STORED_BYTE).max(LEAST_DISK)).filter(|bytes| *bytes < most);
    Ok(DiskLimit { bytes: of_plan.unwrap_or(most), of_plan: of_plan.is_some() })
}

/// The name includes the app's creation time, so an app that reuses the name of a deleted one gets
/// a new cache.
async fn cache(state: &State, app: &AppName) -> ApiResult<PathBuf> {
    let born = state.catalog.app_get(app).await?.created_at.as_millisecond();
    Ok(state.builds.caches.join(format!("{app}-{born}")))
}

/// Stores the log. A build is still valid if there is no room for its log.
async fn keep_log(state: &State, app: &AppName, log: Bytes) -> Option<Digest> {
    if log.is_empty() {
        return None;
    }
    match ingest_source::store_bytes(&state.content, app, log).await {
        Ok(digest) => Some(digest),
        Err(error) => {
            tracing::warn!(message = %error.0, "the log of a build could not be kept");
            None
        }
    }
}

struct Started {
    at: milepost_model::Timestamp,
    measured: Instant,
}

impl Started {
    fn now(state: &State) -> Self {
        Self { at: state.catalog.now(), measured: Instant::now() }
    }
}

/// A finished build that has not been recorded yet.
struct Over {
    id: String,
    key: Digest,
    command: String,
    started: Started,
    log: Option<Digest>,
}

impl Over {
    async fn record(self, state: &State, wanted: &Wanted, outcome: Result<Digest, String>) -> ApiResult<BuildEvent> {
        let new = NewBuild {
            id: self.id,
            key: self.key,
            package: wanted.request.package.clone(),
            source: wanted.request.source,
            command: self.command,
            result: outcome.clone(),
            log: self.log,
            started_at: self.started.at,
            duration_ms: i64::try_from(self.started.measured.elapsed().as_millis()).unwrap_or(i64::MAX),
            started_by: wanted.caller.clone(),
        };
        let id = Some(state.catalog.build_record(&wanted.app, new).await?.id);
        Ok(match outcome {
            Ok(deployment) => BuildEvent::Done { id, deployment, cached: false },
            Err(reason) => BuildEvent::Failed { id, reason },
        })
    }
}

/// Not recorded, because another attempt may succeed.
fn failed(reason: &str) -> BuildEvent {
    BuildEvent::Failed { id: None, reason: reason.to_owned() }
}

fn stopping() -> ApiError {
    Refusal::new(Code::Unavailable, BuildFailure::Stopping.to_string()).next(Next::Retry).into()
}

fn unread(name: &str) -> ApiError {
    let message =
        format!("`{name}` has more than {} MiB and is not read, so the build command is unknown", TELLING >> 20);
    Refusal::new(Code::InvalidSpec, message).correct("make it smaller, or give the package a build command").into()
}

fn in_one_line(error: &ApiError) -> String {
    let message = &error.0.message;
    match phrase::hint(&error.0) {
        Some(hint) => format!("{message}; {hint}"),
        None => message.clone(),
    }
}
