use std::time::Duration;

use axum::Json;
use milepost_client::api::{BlobsFacts, DatabaseFacts, RuntimeFacts, SandboxFact, SystemFacts};
use milepost_model::spec::Runtime;
use milepost_runtime::sandbox::interpreters;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::Shared;

const PATIENCE: Duration = Duration::from_secs(5);

/// Show facts about the server and its machine
#[utoipa::path(get, path = "/system", tag = "system", responses((status = 200, body = SystemFacts)))]
pub(crate) async fn system_get(caller: Caller, state: Shared) -> ApiResult<Json<SystemFacts>> {
    caller.everywhere()?;
    let database = problem(state.catalog.ping()).await;
    let blobs = problem(state.blobs.check()).await;
    let own = state.plane.runtime.clone();
    let runtimes =
        tokio::task::spawn_blocking(move || [Runtime::Python, Runtime::Node].map(|kind| runtime(&own, kind)).to_vec());
    Ok(Json(SystemFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now: state.catalog.clock().now(),
        clock_ahead_ms: state.catalog.clock_ahead_ms(),
        data_free: free_bytes(&state.data),
        gateway: state.urls.gateway(),
        domain: state.urls.domain().to_owned(),
        database: DatabaseFacts {
            engine: state.catalog.engine().to_string(),
            ok: database.is_none(),
            message: database,
        },
        blobs: BlobsFacts { ok: blobs.is_none(), message: blobs },
        runtimes: runtimes.await.unwrap_or_default(),
        sandbox: state
            .plane
            .runtime
            .abilities()
            .into_iter()
            .map(|ability| SandboxFact { name: ability.name, in_force: ability.in_force, detail: ability.detail })
            .collect(),
    }))
}

async fn problem<E: std::fmt::Display>(asked: impl Future<Output = Result<(), E>>) -> Option<String> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(format!("no answer in {} s", PATIENCE.as_secs())),
    }
}

fn runtime(own: &milepost_runtime::Runtime, runtime: Runtime) -> RuntimeFacts {
    let mut facts =
        RuntimeFacts { runtime: runtime.to_string(), version: None, program: None, problem: None, installer: None };
    match own.interpreter(runtime, "") {
        Ok(found) => {
            facts.installer = interpreters::installer(runtime, &found);
            facts.version = Some(found.version);
            facts.program = Some(found.program.display().to_string());
        }
        Err(error) => facts.problem = Some(error.to_string()),
    }
    facts
}

fn free_bytes(folder: &std::path::Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}
