//! Judges the health of a newly installed version, before and after users get it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use milepost_catalog::{CatalogError, LeasedInstall, WentBack};
use milepost_gateway::{Peer, RequestBody};
use milepost_model::check::CheckState;
use milepost_model::install::Health;
use milepost_model::{AppName, Selector, UnitName};
use milepost_runtime::CallContext;
use tokio::time::Instant;

use crate::checks;
use crate::serving::bind_alone;
use crate::state::State;

const PAUSE: Duration = Duration::from_millis(300);

/// The result of a trial.
pub(super) struct Judged {
    pub install: LeasedInstall,
    /// Why the version is unhealthy, and what happened to live.
    pub unhealthy: Option<(String, WentBack)>,
}

/// The result of one health request.
enum Answer {
    Well,
    Unwell(String),
    /// No response before the deadline.
    Nothing,
    /// The deadline passed before the catalog returned where to send the request.
    NotAsked,
}

/// Sends health requests until the installed version is healthy or its deadline passes: first to
/// the version's own URL and, once live has moved to it, to the live URL. If it is unhealthy, live
/// stays or moves back. Does nothing for an install that is not on trial.
///
/// After an error, the version's health is unknown, and the next turn continues the trial.
pub(super) async fn judge(state: &State, mut leased: LeasedInstall) -> Result<Judged, CatalogError> {
    while leased.install.on_trial {
        let install = &leased.install;
        let deadline = Duration::from_secs(u64::from(install.settings.health_deadline_s));
        let unwell = match (Box::pin(does_not_load(state, &leased)).await?, &install.settings.health) {
            (Some(why), _) => Some(why),
            (None, Some(health)) => becomes_well(state, &leased, health, deadline).await?,
            // Its functions load, and no other health check is configured.
            (None, None) => None,
        };
        match unwell {
            None => leased = state.apply(state.catalog.install_healthy(&leased.lease).await?).await,
            Some(why) => {
                let judged = state.catalog.install_unhealthy(&leased.lease, why.clone()).await?;
                let (install, went) = state.apply(judged).await;
                return Ok(Judged { install, unhealthy: Some((why, went)) });
            }
        }
    }
    Ok(Judged { install: leased, unhealthy: None })
}

/// Returns why the installed version's functions do not load, if they do not. Waits for the check
/// of its release.
async fn does_not_load(state: &State, leased: &LeasedInstall) -> Result<Option<String>, CatalogError> {
    let LeasedInstall { lease, install, .. } = leased;
    if install.live.as_ref() == Some(&install.entry.version) {
        return Ok(None);
    }
    let (release, _) = state.apply(state.catalog.install_trial_release(lease).await?).await;
    let checked = Box::pin(checks::settled(state, &install.app, &release.id, None)).await;
    let check = checked.map_err(|error| CatalogError::from(error.0))?.release.check;
    let failed = check.failed().next().filter(|_| check.state == CheckState::Failed);
    Ok(failed.map(|function| {
        format!("function {} version {} does not load: {}", function.name, function.number, function.reason)
    }))
}

/// Returns why the version did not become healthy in time, if it did not. Catalog errors say
/// nothing about the version: a refusal is returned at once, and other errors may pass before the
/// deadline.
async fn becomes_well(
    state: &State,
    leased: &LeasedInstall,
    health: &Health,
    within: Duration,
) -> Result<Option<String>, CatalogError> {
    let until = Instant::now() + within;
    let mut last = Err(CatalogError::Database {
        doing: "ask for the health of the version on trial".to_owned(),
        source: format!("the database did not answer within {} s", within.as_secs()).into(),
    });
    loop {
        let asked = match health {
            Health::Path(path) => ask_path(state, leased, path, until).await,
            Health::Function(name) => ask_function(state, &leased.lease.app, name, until).await,
        };
        match asked {
            Ok(Answer::Well) => return Ok(None),
            Ok(Answer::Unwell(why)) => last = Ok(why),
            Ok(Answer::Nothing) if last.is_err() => last = Ok("it did not answer".to_owned()),
            // Keeps the earlier result, which is more specific.
            Ok(Answer::Nothing | Answer::NotAsked) => {}
            Err(refused @ CatalogError::Refused(_)) => return Err(refused),
            Err(error) => last = Err(error),
        }
        if Instant::now() + PAUSE >= until {
            return last.map(|why| Some(format!("{health} was not well within {} s: {why}", within.as_secs())));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sends a request as a visitor would, but without the network: to live once users have the
/// version, before that to its release's own URL. The release may change between two attempts.
async fn ask_path(state: &State, leased: &LeasedInstall, path: &str, until: Instant) -> Result<Answer, CatalogError> {
    let LeasedInstall { lease, install, .. } = leased;
    let app = &install.app;
    let host = if install.live.as_ref() == Some(&install.entry.version) {
        format!("{app}.{}", state.urls.domain())
    } else {
        let found = tokio::time::timeout_at(until, state.catalog.install_trial_release(lease)).await;
        let Ok(found) = found else { return Ok(Answer::NotAsked) };
        let (release, _) = state.apply(found?).await;
        format!("{app}.{}.{}", release.id, state.urls.domain())
    };
    let request = Request::builder()
        .method(Method::GET)
        .uri(path)
        .header(header::HOST, host)
        .header(header::USER_AGENT, "milepost-health")
        .body(RequestBody::empty());
    let request = match request {
        Ok(request) => request,
        Err(error) => return Ok(Answer::Unwell(error.to_string())),
    };
    let answer = tokio::time::timeout_at(until, state.gateway.handle(request, Peer::default())).await;
    Ok(answer.map_or(Answer::Nothing, |answer| Answer::with(answer.status())))
}

async fn ask_function(state: &State, app: &AppName, name: &UnitName, until: Instant) -> Result<Answer, CatalogError> {
    let found = state.catalog.serving_function(app, name.clone(), Selector::Latest);
    let function = match tokio::time::timeout_at(until, found).await {
        Ok(Ok(serving)) => bind_alone(serving).map_err(|refusal| refusal.message),
        // A function that was removed in the meantime does not become healthy.
        Ok(Err(CatalogError::Refused(refusal))) => Err(refusal.message),
        Ok(Err(error)) => return Err(error),
        Err(_) => return Ok(Answer::NotAsked),
    };
    let request =
        Request::builder().method(Method::POST).uri("/").header(header::HOST, "localhost").body(Body::empty());
    let (function, request) = match (function, request) {
        (Ok(function), Ok(request)) => (Arc::new(function), request),
        (Err(why), _) => return Ok(Answer::Unwell(why)),
        (_, Err(error)) => return Ok(Answer::Unwell(error.to_string())),
    };
    let context = CallContext {
        request_id: format!("health-{}", state.catalog.ids().short_id()).into(),
        // Without a token the function still runs, and only its calls to others are refused.
        call_token: state.views.call_token(app).await.unwrap_or_default(),
        ..CallContext::default()
    };
    Ok(match tokio::time::timeout_at(until, state.plane.runtime.call(&function, request, context)).await {
        Ok(Ok(answer)) => Answer::with(answer.status()),
        Ok(Err(error)) => Answer::Unwell(error.to_string()),
        Err(_) => Answer::Nothing,
    })
}

impl Answer {
    fn with(status: StatusCode) -> Self {
        if status.is_success() {
            Self::Well
        } else {
            Self::Unwell(format!("it answered with status {}", status.as_u16()))
        }
    }
}
