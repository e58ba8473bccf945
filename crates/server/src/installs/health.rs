//! Whether a version that was just installed is well, before users get it and after.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Method, Request, header};
use milepost_catalog::{CatalogError, LeasedInstall, WentBack};
use milepost_gateway::{Peer, RequestBody};
use milepost_model::install::Health;
use milepost_model::{AppName, Selector, UnitName};
use milepost_runtime::CallContext;
use tokio::time::Instant;

use crate::error::ApiResult;
use crate::serving::bind_alone;
use crate::state::State;

const PAUSE: Duration = Duration::from_millis(300);

/// What a trial came to.
pub(super) struct Judged {
    pub install: LeasedInstall,
    /// Why it is not well, and what became of it.
    pub unhealthy: Option<(String, WentBack)>,
}

/// Asks until the installed version is well or its time is up: at its own address first, and when live has moved to it, at
/// live's. If it is not well, live stays or goes back. An install that is not on trial is as it is.
pub(super) async fn judge(state: &State, mut leased: LeasedInstall) -> Result<Judged, CatalogError> {
    while leased.install.on_trial {
        let install = &leased.install;
        let deadline = Duration::from_secs(u64::from(install.settings.health_deadline_s));
        // Without a check it was taken away meanwhile.
        let well = match &install.settings.health {
            Some(health) => becomes_well(state, &leased, health, deadline).await,
            None => Ok(()),
        };
        match well {
            Ok(()) => leased = state.catalog.install_healthy(&leased.lease).await?,
            Err(why) => {
                let (install, went) = state.catalog.install_unhealthy(&leased.lease, why.clone()).await?;
                shown(state, &install.lease.app).await;
                return Ok(Judged { install, unhealthy: Some((why, went)) });
            }
        }
        shown(state, &leased.lease.app).await;
    }
    Ok(Judged { install: leased, unhealthy: None })
}

/// Live may have moved.
async fn shown(state: &State, app: &AppName) {
    state.executions.wake_scheduler();
    if let Err(error) = state.views.refresh(app).await {
        tracing::warn!(message = %error.0, "live moved, but this node shows it only later");
    }
}

async fn becomes_well(state: &State, leased: &LeasedInstall, health: &Health, within: Duration) -> Result<(), String> {
    let until = Instant::now() + within;
    let mut last = "it did not answer".to_owned();
    loop {
        let asked = async {
            match health {
                Health::Path(path) => ask_path(state, leased, path).await,
                Health::Function(name) => ask_function(state, &leased.lease.app, name).await,
            }
        };
        match tokio::time::timeout_at(until, asked).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => last = why,
            Err(_) => {}
        }
        if Instant::now() + PAUSE >= until {
            return Err(format!("{health} was not well within {} s: {last}", within.as_secs()));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// As a visitor would, without the way over the network: of live once users have the version, before that of its release's own
/// address. Which release that is may change from one try to the next.
async fn ask_path(state: &State, leased: &LeasedInstall, path: &str) -> Result<(), String> {
    let LeasedInstall { lease, install, .. } = leased;
    let app = &install.app;
    let host = if install.live.as_ref() == Some(&install.entry.version) {
        format!("{app}.{}", state.urls.domain())
    } else {
        let found = state.catalog.install_trial_release(lease).await;
        let (release, again) = found.map_err(|error| error.to_string())?;
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
        .body(RequestBody::empty())
        .map_err(|error| error.to_string())?;
    let answer = state.gateway.handle(request, Peer::default()).await;
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(format!("it answered with status {}", answer.status().as_u16()))
    }
}

async fn ask_function(state: &State, app: &AppName, name: &UnitName) -> Result<(), String> {
    let bound = async {
        let serving = state.catalog.serving_function(app, name.clone(), Selector::Latest).await?;
        ApiResult::Ok(Arc::new(bind_alone(serving)?))
    };
    let function = bound.await.map_err(|error| error.0.message.clone())?;
    let request = Request::builder()
        .method(Method::POST)
        .uri("/")
        .header(header::HOST, "localhost")
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    let context = CallContext {
        request_id: format!("health-{}", state.catalog.ids().short_id()).into(),
        ..CallContext::default()
    };
    match state.plane.runtime.call(&function, request, context).await {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("it answered with status {}", answer.status().as_u16())),
        Err(error) => Err(error.to_string()),
    }
}
