//! Chooses the binding of an execution's version: the live release if it contains the version,
//! otherwise the current state of the app.

use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::Claimed;
use milepost_gateway::Backend;
use milepost_runtime::{CallContext, Function};

use crate::error::ApiResult;
use crate::serving::bind_alone;
use crate::state::State;

/// How long a queued execution waits for an instance before it gives up its place for a while.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Binding {
    pub function: Arc<Function>,
    pub context: CallContext,
}

pub(super) async fn of(state: &State, claimed: &Claimed) -> ApiResult<Binding> {
    let patience = (!claimed.execution.sync).then_some(PATIENCE);
    // Log lines are looked up by the execution's id.
    let context = CallContext { request_id: claimed.execution.id.as_str().into(), patience, ..CallContext::default() };
    if let Some((function, release)) = live(state, claimed).await? {
        let call_token = state.plane.make_call_token(claimed.app.as_str(), &release);
        return Ok(Binding { function, context: CallContext { release: release.into(), call_token, ..context } });
    }
    let serving = state.catalog.serving_version(&claimed.app, claimed.version_id).await?;
    let call_token = state.views.call_token(&claimed.app).await?;
    Ok(Binding { function: Arc::new(bind_alone(serving)?), context: CallContext { call_token, ..context } })
}

/// The version as bound by the live release, and the id of that release.
async fn live(state: &State, claimed: &Claimed) -> ApiResult<Option<(Arc<Function>, String)>> {
    let Some(version) = &claimed.execution.version else { return Ok(None) };
    let Some(view) = state.views.of(&claimed.app).await? else { return Ok(None) };
    let Some(live) = &view.live else { return Ok(None) };
    let name = claimed.execution.function.as_str();
    // All versions made by one change share a uid.
    let held = live.targets().iter().find(|target| target.name == name && target.function.uid == version.uid);
    Ok(held.map(|target| (Arc::clone(&target.function), live.id.to_string())))
}
