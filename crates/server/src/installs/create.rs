//! A new install: finds the version, creates the app, fetches, installs, and checks the health.

use bytes::Bytes;
use futures::stream::Stream;
use milepost_catalog::{CatalogError, InstallInput};
use milepost_channels::{ChannelError, LatestAnswer, Source};
use milepost_model::channel::{Artifact, ChannelName, Entry, PackageName, SemVer};
use milepost_model::install::{Check, CheckResult, InstallFrom, InstallMode, InstallSettings, Installed, NewInstall};
use milepost_model::refusal::{Field, View};
use milepost_model::{AppName, Code, Next, Permission, PlanName, Refusal};

use super::health;
use super::own;
use super::problem::Problem;
use super::put::{self, Wanted};
use super::reach;
use super::rules::check_serial;
use super::source::{self, Known};
use super::turn::{Notes, tell_unhealthy, went_back};
use crate::auth::Caller;
use crate::cluster::install_lease::{self as lease, LEASE_MS};
use crate::error::{ApiError, ApiResult};
use crate::phrase;
use crate::serving::urls::WithUrls;
use crate::state::State;

/// What the source says about the version to install.
struct Found {
    mode: InstallMode,
    package: PackageName,
    channel: Option<ChannelName>,
    place: String,
    entry: Entry,
    serial: u64,
}

/// A version that came with the request.
pub(crate) struct Bundled<S> {
    pub package: PackageName,
    pub channel: ChannelName,
    pub entry: Entry,
    pub serial: u64,
    pub artifact: S,
}

/// Checks, before anything is fetched, whether the caller may change any app at all. The app may be
/// known only later.
pub(crate) fn may_install(caller: &Caller) -> ApiResult<()> {
    match &caller.row().app {
        Some(app) => caller.on(app).map(drop),
        None => caller.everywhere(),
    }
}

pub(crate) async fn create(state: &State, caller: &Caller, new: NewInstall) -> ApiResult<Installed> {
    check_settings(&new)?;
    check_app(state, caller, &new).await?;
    let (found, source) = find(state, caller, &new).await?;
    let app = app_name(&new, &found.package)?;
    let fetch = async |state: &State, app: &AppName, entry: &Entry| put::fetch(state, app, &source, entry).await;
    Box::pin(install(state, caller, &new, &app, found, fetch)).await
}

/// Installs from a bundle that the client has read: the artifact follows the request.
pub(crate) async fn create_from_bundle<S, E>(
    state: &State,
    caller: &Caller,
    new: NewInstall,
    bundled: Bundled<S>,
) -> ApiResult<Installed>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    check_settings(&new)?;
    let Bundled { package, channel, entry, serial, artifact } = bundled;
    check_admitted(&channel, &entry)?;
    check_serial(serial, 0)?;
    let app = app_name(&new, &package)?;
    let mode = InstallMode::Bundle;
    let found = Found { mode, package, channel: Some(channel), place: String::new(), entry, serial };
    let mut artifact = Some(artifact);
    install(state, caller, &new, &app, found, async |state: &State, app: &AppName, entry: &Entry| {
        let artifact = artifact
            .take()
            .ok_or_else(|| Problem::from(Refusal::new(Code::Internal, "the artifact was already read")))?;
        put::stage(state, app, artifact, entry).await
    })
    .await
}

pub(super) fn check_admitted(channel: &ChannelName, entry: &Entry) -> Result<(), Refusal> {
    if channel.admits(&entry.version) {
        return Ok(());
    }
    let message = format!("channel `{channel}` cannot have version `{}`", entry.version);
    Err(Refusal::new(Code::ChannelRefused, message).correct("ask the author of the bundle"))
}

fn check_settings(new: &NewInstall) -> ApiResult<()> {
    if let Some(key) = &new.settings.key {
        source::parse_key(key)?;
    }
    if matches!(new.from, InstallFrom::Pinned { .. }) && new.settings.follows_differently(&InstallSettings::default()) {
        return Err(follows_nothing().into());
    }
    new.settings
        .check()
        .map_err(|error| Refusal::new(Code::InvalidRequest, error.to_string()).see(View::InstallForms).into())
}

/// Refuses a policy, windows or a poll interval for an install that follows no channel.
pub(crate) fn follows_nothing() -> Refusal {
    Refusal::new(
        Code::InvalidRequest,
        "a pinned install stays at its version, so a policy, windows or a poll interval would have no effect",
    )
    .correct("install it from a channel to have it upgraded by policy")
}

/// Refuses, before anything is fetched, what would be refused at the end.
async fn check_app(state: &State, caller: &Caller, new: &NewInstall) -> ApiResult<()> {
    let app = match &new.from {
        InstallFrom::Pinned { package, .. } | InstallFrom::Channel { package: Some(package), .. } => {
            Some(app_name(new, package)?)
        }
        _ => new.app.clone(),
    };
    match (app, &caller.row().app) {
        (Some(app), _) => is_there(state, caller, &app).await.map(drop),
        (None, Some(own)) => {
            let message =
                format!("token `{}` has access to app `{own}` only, and the request names no app", caller.name());
            Err(Refusal::new(Code::Forbidden, message).give(Field::App).into())
        }
        (None, None) => Ok(()),
    }
}

/// The requested name, or the last part of the package's name.
fn app_name(new: &NewInstall, package: &PackageName) -> ApiResult<AppName> {
    if let Some(app) = &new.app {
        return Ok(app.clone());
    }
    let last = package.as_str().rsplit('/').next().unwrap_or_default();
    last.parse().map_err(|error: milepost_model::NameError| {
        Refusal::new(Code::InvalidName, format!("`{last}` of package `{package}` is not a valid app name"))
            .correct(error.rule)
            .give(Field::App)
            .into()
    })
}

async fn find(state: &State, caller: &Caller, new: &NewInstall) -> ApiResult<(Found, Source)> {
    let (key, confined) = (new.settings.key.as_deref(), reach::is_confined(caller));
    let known = Known { key, confined, ..Known::default() };
    match &new.from {
        InstallFrom::Channel { url, package } => {
            check_place(caller, url)?;
            reach::check(state, caller, url).await?;
            let source = source::open(state, url, &Known { package: package.as_ref(), ..known })?;
            let read = match source.latest(None).await.map_err(Problem::from)? {
                LatestAnswer::Read(read) => read,
                LatestAnswer::NotModified => return Err(nothing_published(url).into()),
            };
            let entry = read.latest.latest.clone().ok_or_else(|| nothing_published(url))?;
            let found = Found {
                mode: InstallMode::Channel,
                package: read.latest.package.clone(),
                channel: Some(read.latest.name.clone()),
                place: url.clone(),
                entry,
                serial: read.serial.unwrap_or(0),
            };
            Ok((found, source))
        }
        InstallFrom::Pinned { package, version, channel, registry } => {
            if let Some(registry) = registry {
                if key.is_some() {
                    let message = "an app from a registry has no signature that a key could check";
                    return Err(Refusal::new(Code::InvalidRequest, message)
                        .next(Next::LeaveOut { field: Field::Key })
                        .next(Next::InstallFromChannel)
                        .into());
                }
                reach::check(state, caller, registry).await?;
                let (entry, source) = source::in_registry(state, package, version, registry, confined).await?;
                let (mode, place) = (InstallMode::Pinned, registry.clone());
                return Ok((Found { mode, package: package.clone(), channel: None, place, entry, serial: 0 }, source));
            }
            let place = channel.clone().unwrap_or_else(|| source::own_place(package, version));
            check_place(caller, &place)?;
            reach::check(state, caller, &place).await?;
            let source = source::open(state, &place, &Known { package: Some(package), ..known })?;
            let read = match source.all().await {
                Err(ChannelError::Gone { .. }) if channel.is_none() => {
                    return Err(own::not_published(state, caller, package, &place).await.into());
                }
                read => read.map_err(Problem::from)?,
            };
            let entry = listed(&read.all, version)?;
            let found = Found {
                mode: InstallMode::Pinned,
                package: package.clone(),
                channel: Some(read.all.name().clone()),
                place,
                entry,
                // Only the serial of `latest` is recorded: after an interrupted publish, this one
                // may be higher.
                serial: 0,
            };
            Ok((found, source))
        }
        InstallFrom::Bundle { .. } => {
            Err(Refusal::new(Code::InvalidRequest, "the artifact of a bundle must be in the request")
                .next(Next::InstallBundle)
                .into())
        }
    }
}

fn nothing_published(url: &str) -> Refusal {
    Refusal::new(Code::ChannelRefused, format!("channel `{url}` has no latest version now")).next(Next::InstallVersion)
}

pub(super) fn listed(all: &milepost_model::channel::All, version: &SemVer) -> Result<Entry, Refusal> {
    if let Some(entry) = all.get(version) {
        return Ok(entry.clone());
    }
    let names: Vec<String> = all.versions().iter().map(|entry| entry.version.to_string()).collect();
    let taken_back = all.unpublished().iter().any(|entry| entry.version == *version);
    let message = if taken_back {
        format!("`{version}` of `{}` was unpublished by its author", all.package())
    } else {
        format!("channel `{}` of `{}` has no version `{version}`", all.name(), all.package())
    };
    let newest = names
        .first()
        .map_or_else(|| "it has no versions".to_owned(), |newest| format!("its newest version is {newest}"));
    Err(Refusal::not_found(Code::VersionNotFound, message, version.as_str(), &names, [Next::Correct { how: newest }]))
}

fn check_place(caller: &Caller, place: &str) -> ApiResult<()> {
    let authority = place.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        let message = "the address of the channel contains a user name or a password, which every reader would see";
        return Err(Refusal::new(Code::InvalidRequest, message)
            .correct("remove it: channels are public files, signed by their author")
            .into());
    }
    if authority.is_some() && place.contains(['?', '#']) {
        let message = "the address of the channel contains a query, which every reader would see";
        return Err(Refusal::new(Code::InvalidRequest, message)
            .correct("end the address with the channel's name: channels are public files, signed by their author")
            .into());
    }
    if source::is_guarded(place) { caller.may_everywhere(Permission::Administer) } else { Ok(()) }
}

async fn install(
    state: &State,
    caller: &Caller,
    new: &NewInstall,
    app: &AppName,
    found: Found,
    fetch: impl AsyncFnOnce(&State, &AppName, &Entry) -> Result<Artifact, Problem>,
) -> ApiResult<Installed> {
    let made = ensure_app(state, caller, app).await?;
    let installed = async {
        let artifact = fetch(state, app, &found.entry).await?;
        Box::pin(put_first(state, caller, new, app, found, &artifact)).await
    };
    match installed.await {
        Ok(installed) => Ok(installed),
        Err(problem) => {
            if made {
                match state.catalog.app_delete_unused(app, caller.name()).await {
                    Ok(deleted) => state.apply(deleted).await,
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, %app, "an app that was created for an install could not be deleted");
                    }
                }
            }
            Err(problem.into())
        }
    }
}

/// Returns whether the app was created for this install.
async fn ensure_app(state: &State, caller: &Caller, app: &AppName) -> ApiResult<bool> {
    if is_there(state, caller, app).await? {
        return Ok(false);
    }
    state.apply(state.catalog.app_create(app, PlanName::default(), caller.name()).await?).await;
    Ok(true)
}

/// Whether the app exists and the caller may install into it. If it does not exist, the caller must
/// be allowed to create it.
async fn is_there(state: &State, caller: &Caller, app: &AppName) -> ApiResult<bool> {
    match state.catalog.app_get(app).await {
        Ok(_) => {
            caller.may(Permission::ChangeCode, app.as_str())?;
            match state.catalog.install_get(app).await {
                Ok(install) => {
                    let message =
                        format!("app `{app}` is already installed: {} {}", install.package, install.entry.version);
                    Err(Refusal::new(Code::InstallExists, message)
                        .next(Next::Upgrade)
                        .next(Next::InstallAs { app: None })
                        .into())
                }
                Err(CatalogError::Refused(refusal)) if refusal.code == Code::InstallNotFound => Ok(true),
                Err(error) => Err(error.into()),
            }
        }
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::AppNotFound => {
            caller.may_everywhere(Permission::Administer)?;
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

async fn put_first(
    state: &State,
    caller: &Caller,
    new: &NewInstall,
    app: &AppName,
    found: Found,
    artifact: &Artifact,
) -> Result<Installed, Problem> {
    let wanted = Wanted {
        app,
        package: &found.package,
        entry: &found.entry,
        overrides: &new.settings.overrides,
        health: new.settings.health.as_ref(),
        secrets: &new.secrets,
        actor: caller.name(),
        forced: false,
    };
    let version = put::version(state, artifact, wanted).await?;
    let (at, to) = (state.catalog.now(), found.entry.version.clone());
    let message = format!("{to} was installed");
    let input = InstallInput {
        mode: found.mode,
        package: found.package,
        channel: found.channel,
        place: found.place,
        settings: new.settings.clone(),
        confined: reach::is_confined(caller),
        serial: found.serial,
        check: Some(Check { at, result: CheckResult::Ok, kind: "installed".to_owned(), message, failures: 0 }),
        version,
        holder: state.installs.holder(),
        lease_ms: LEASE_MS,
    };
    let outcome = state.apply(state.catalog.install_create(app, input).await?).await;
    let kept = lease::keep(&state.catalog, &outcome.install.lease);
    state.metrics.changes.inc();
    let judged = health::judge(state, outcome.install.clone()).await?;
    let mut notes = Notes::of(&judged.install);
    if !tell_unhealthy(state, &judged, &mut notes) {
        // Checks the channel's plan at once.
        let follows = judged.install.install.mode == InstallMode::Channel;
        notes.record.next_check_at = follows.then(|| state.catalog.now());
    }
    drop(kept);
    state.catalog.install_give_back(&judged.install.lease, notes.record).await?;
    state.installs.wake();
    let went_back = judged.unhealthy.as_ref().map(|(why, went)| went_back(&judged.install.install, why, went));
    // The app is installed, so a failed read must not deny that.
    let install = state.catalog.install_get(app).await.unwrap_or(judged.install.install);
    let mut release = outcome.release;
    if let Some(made) = &mut release
        && let Ok(now) = state.catalog.release_get(app, made.id.clone()).await
    {
        *made = now;
    }
    Ok(Installed {
        from: None,
        to: Some(to),
        release: release.with_urls(&state.urls, app),
        went_back,
        warnings: phrase::warnings(&outcome.outcome.notices),
        notices: outcome.outcome.notices,
        install,
    })
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        ApiError::from(problem).0
    }
}
