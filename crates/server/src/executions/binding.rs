//! With what an execution's version is bound: the live release if it holds the version, else the app as it is now.

use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::Claimed;
use milepost_gateway::Backend;
use milepost_runtime::{CallContext, Function};

use crate::error::ApiResult;
use crate::serving::bind_alone;
use crate::state::State;

/// How long one of the queue waits for an instance of its function. After that it gives its place to others for a while.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Binding {
    pub function: Arc<Function>,
    pub context: CallContext,
}

pub(super) async fn of(state: &State, claimed: &Claimed) -> ApiResult<Binding> {
    let patience = (!claimed.execution.sync).then_some(PATIENCE);
    // The lines that it writes are found by the id of the execution.
    let context = CallContext { request_id: claimed.execution.id.as_str().into(), patience, ..CallContext::default() };
    if let Some((function, release)) = live(state, claimed).await? {
        let call_token = state.plane.make_call_token(claimed.app.as_str(), &release);
        return Ok(Binding { function, context: CallContext { release: release.into(), call_token, ..context } });
    }
    let serving = state.catalog.serving_version(&claimed.app, claimed.version_id).await?;
    let call_token = state.views.call_token(&claimed.app).await?;
    Ok(Binding { function: Arc::new(bind_alone(serving)?), context: CallContext { call_token, ..context } })
}

/// As the live release has the version, and which release that is.
async fn live(state: &State, claimed: &Claimed) -> ApiResult<Option<(Arc<Function>, String)>> {
    let Some(version) = &claimed.execution.version else { return Ok(None) };
    let Some(view) = state.views.of(&claimed.app).await? else { return Ok(None) };
    let Some(live) = &view.live else { return Ok(None) };
    let name = claimed.execution.function.as_str();
    // All that one change made has the same uid.
    let held = live.targets().iter().find(|target| target.name == name && target.function.uid == version.uid);
    Ok(held.map(|target| (Arc::clone(&target.function), live.id.to_string())))
}
