//! Whether a version that was just installed is well.

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

/// Asks until the installed version is well or its time is up; then live goes back. An install that is not on trial is as it
/// is.
pub(super) async fn judge(state: &State, leased: LeasedInstall) -> Result<Judged, CatalogError> {
    let install = &leased.install;
    if !install.on_trial {
        return Ok(Judged { install: leased, unhealthy: None });
    }
    let Some(health) = &install.settings.health else {
        // It was taken away meanwhile.
        return Ok(Judged { install: state.catalog.install_healthy(&leased.lease).await?, unhealthy: None });
    };
    let deadline = Duration::from_secs(u64::from(install.settings.health_deadline_s));
    match becomes_well(state, &install.app, health, &install.app_version, deadline).await {
        Ok(()) => Ok(Judged { install: state.catalog.install_healthy(&leased.lease).await?, unhealthy: None }),
        Err(why) => {
            let (install, went) = state.catalog.install_unhealthy(&leased.lease, why.clone()).await?;
            if let Err(error) = state.views.refresh(&install.lease.app).await {
                tracing::warn!(message = %error.0, "live went back, but this node shows it only later");
            }
            Ok(Judged { install, unhealthy: Some((why, went)) })
        }
    }
}

async fn becomes_well(
    state: &State,
    app: &AppName,
    health: &Health,
    app_version: &str,
    within: Duration,
) -> Result<(), String> {
    let until = Instant::now() + within;
    let mut last = "it did not answer".to_owned();
    loop {
        let asked = async {
            match health {
                Health::Path(path) => ask_path(state, app, app_version, path).await,
                Health::Function(name) => ask_function(state, app, name).await,
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

/// As a visitor of the release's own address would, without the way over the network.
async fn ask_path(state: &State, app: &AppName, app_version: &str, path: &str) -> Result<(), String> {
    let release = state.catalog.release_get(app, app_version.to_owned()).await.map_err(|error| error.to_string())?;
    let host = format!("{app}.{}.{}", release.id, state.urls.domain());
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
