//! Whether a version that was just installed is well, before users get it and after.

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

/// What a trial came to.
pub(super) struct Judged {
    pub install: LeasedInstall,
    /// Why it is not well, and what became of it.
    pub unhealthy: Option<(String, WentBack)>,
}

/// What a version said of its health.
enum Answer {
    Well,
    Unwell(String),
    /// Nothing, until its time was up.
    Nothing,
    /// Its time was up before the catalog had said where to ask.
    NotAsked,
}

/// Asks until the installed version is well or its time is up: at its own address first, and when live has moved to it, at
/// live's. If it is not well, live stays or goes back. An install that is not on trial is as it is.
///
/// On an error nothing is known of the version's health, and its trial goes on with the next turn.
pub(super) async fn judge(state: &State, mut leased: LeasedInstall) -> Result<Judged, CatalogError> {
    while leased.install.on_trial {
        let install = &leased.install;
        let deadline = Duration::from_secs(u64::from(install.settings.health_deadline_s));
        let unwell = match (Box::pin(does_not_load(state, &leased)).await?, &install.settings.health) {
            (Some(why), _) => Some(why),
            (None, Some(health)) => becomes_well(state, &leased, health, deadline).await?,
            // Its functions load, and nothing else was asked for.
            (None, None) => None,
        };
        match unwell {
            None => leased = state.catalog.install_healthy(&leased.lease).await?,
            Some(why) => {
                let (install, went) = state.catalog.install_unhealthy(&leased.lease, why.clone()).await?;
                shown(state, &install.lease.app).await;
                return Ok(Judged { install, unhealthy: Some((why, went)) });
            }
        }
        shown(state, &leased.lease.app).await;
    }
    Ok(Judged { install: leased, unhealthy: None })
}

/// Why the installed version's functions do not load, if they do not. Waits for the check of its release.
async fn does_not_load(state: &State, leased: &LeasedInstall) -> Result<Option<String>, CatalogError> {
    let LeasedInstall { lease, install, .. } = leased;
    if install.live.as_ref() == Some(&install.entry.version) {
        return Ok(None);
    }
    let (release, again) = state.catalog.install_trial_release(lease).await?;
    if again {
        shown(state, &install.app).await;
    }
    let checked = Box::pin(checks::settled(state, &install.app, &release.id, None)).await;
    let check = checked.map_err(|error| CatalogError::from(error.0))?.release.check;
    let failed = check.failed().next().filter(|_| check.state == CheckState::Failed);
    Ok(failed.map(|function| {
        format!("function {} version {} does not load: {}", function.name, function.number, function.reason)
    }))
}

/// Live may have moved.
async fn shown(state: &State, app: &AppName) {
    state.executions.wake_scheduler();
    if let Err(error) = state.views.refresh(app).await {
        tracing::warn!(message = %error.0, "live moved, but this node shows it only later");
    }
}

/// Why it did not become well in time, if it did not. A catalog that cannot be asked is no word about the version: what it
/// refuses is told at once, and what else is wrong with it may pass before the deadline.
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
            // What was found before tells more.
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

/// As a visitor would, without the way over the network: of live once users have the version, before that of its release's own
/// address. Which release that is may change from one try to the next.
async fn ask_path(state: &State, leased: &LeasedInstall, path: &str, until: Instant) -> Result<Answer, CatalogError> {
    let LeasedInstall { lease, install, .. } = leased;
    let app = &install.app;
    let host = if install.live.as_ref() == Some(&install.entry.version) {
        format!("{app}.{}", state.urls.domain())
    } else {
        let found = tokio::time::timeout_at(until, state.catalog.install_trial_release(lease)).await;
        let Ok(found) = found else { return Ok(Answer::NotAsked) };
        let (release, again) = found?;
        if again {
            shown(state, app).await;
        }
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
        // A function that somebody took out meanwhile does not become well.
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
        // Without one it runs all the same: only what it calls is refused.
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
