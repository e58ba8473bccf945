//! The v1 REST interface of OpenStack Qinling (seed 004), for its existing clients, on the same
//! catalog as the rest of the API.
//!
//! Mapping, and choices where the interface leaves them open:
//! - A **project** is an app. A token for one app belongs to that project, and a token for all apps
//!   to the project `default`. The role decides what is allowed there, as everywhere. `admin` for
//!   all apps may also read other projects (`project.rs`).
//! - A **runtime** is an environment. It is created in the creator's project and, if `is_public`,
//!   can be seen and used from all others: a function that uses a runtime of another project gets
//!   an equal environment in its own app.
//! - A **function** is a function with its own package. The package keeps the uploaded zip as its
//!   source, and the content of the zip as its deployment. v1 names are free text and need not be
//!   unique, so they are stored in the unit's facts.
//! - The **head** (version 0) is the newest version in the catalog. A **version** is a published
//!   one (`v1_versions`).
//! - **Workers** are instances on the node that handles the request.
//! - Lists return the newest 10,000 matches (`lists::MOST`).
//! - Errors are [`fault::Fault`]s. Whatever prevents a delete is listed under `blockers`.
//!
//! To add a call, add a file `RESOURCE/VERB.rs` with one handler, and a line in [`router`].

mod aliases;
mod executions;
mod fault;
mod fields;
mod form;
mod functions;
mod hearing;
mod jobs;
mod lists;
mod names;
mod project;
mod root;
mod runtimes;
mod targets;
mod unread;
pub(crate) mod uploads;
mod versions;
mod webhooks;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, get, post};
use milepost_model::AppName;

use crate::state::State;

pub(crate) fn router() -> Router<State> {
    let mut router = Router::new()
        .route("/", get(root::versions))
        .route("/v1/functions/{id}/detach", post(functions::detach::head))
        .route("/v1/functions/{id}/scale_up", post(functions::scale_up::head))
        .route("/v1/functions/{id}/scale_down", post(functions::scale_down::head))
        .route("/v1/functions/{id}/versions/{version}/detach", post(functions::detach::version))
        .route("/v1/functions/{id}/versions/{version}/scale_up", post(functions::scale_up::version))
        .route("/v1/functions/{id}/versions/{version}/scale_down", post(functions::scale_down::version))
        .route("/v1/executions/{id}/log", get(executions::log::log))
        .route("/v1/runtimes/{id}/pool", get(runtimes::pool::pool))
        .route("/v1/webhooks/{id}/invoke", post(webhooks::invoke::invoke));
    for (path, calls) in resources() {
        // Clients, and the seed, also request lists with a trailing slash.
        router = router.route(path, calls.clone()).route(&format!("{path}/"), calls);
    }
    router
        .route("/v1/{*unknown}", axum::routing::any(root::unknown))
        .method_not_allowed_fallback(root::wrong_method)
        .layer(DefaultBodyLimit::max(form::MAX_BODY))
        .layer(axum::middleware::from_fn(hearing::hear_out))
}

fn resources() -> [(&'static str, MethodRouter<State>); 16] {
    [
        ("/v1", get(root::uri)),
        ("/v1/runtimes", get(runtimes::list::list).post(runtimes::create::create)),
        ("/v1/runtimes/{id}", get(runtimes::get::get).put(runtimes::update::update).delete(runtimes::delete::delete)),
        ("/v1/functions", get(functions::list::list).post(functions::create::create)),
        (
            "/v1/functions/{id}",
            get(functions::get::get).put(functions::update::update).delete(functions::delete::delete),
        ),
        ("/v1/functions/{id}/workers", get(functions::workers::list)),
        ("/v1/functions/{id}/versions", get(versions::list::list).post(versions::create::create)),
        (
            "/v1/functions/{id}/versions/{version}",
            get(versions::get::get).put(versions::update::update).delete(versions::delete::delete),
        ),
        ("/v1/executions", get(executions::list::list).post(executions::create::create)),
        (
            "/v1/executions/{id}",
            get(executions::get::get).put(executions::cancel::cancel).delete(executions::delete::delete),
        ),
        ("/v1/jobs", get(jobs::list::list).post(jobs::create::create)),
        ("/v1/jobs/{id}", get(jobs::get::get).put(jobs::update::update).delete(jobs::delete::delete)),
        ("/v1/webhooks", get(webhooks::list::list).post(webhooks::create::create)),
        ("/v1/webhooks/{id}", get(webhooks::get::get).put(webhooks::update::update).delete(webhooks::delete::delete)),
        ("/v1/aliases", get(aliases::list::list).post(aliases::create::create)),
        ("/v1/aliases/{name}", get(aliases::get::get).put(aliases::update::update).delete(aliases::delete::delete)),
    ]
}

/// Updates the view, so that the next request sees a change. A failure is recovered later.
async fn changed(state: &State, app: &AppName) {
    state.executions.wake_scheduler();
    if let Err(error) = state.views.refresh(app).await {
        tracing::warn!(message = %error.0.message, "the change is made, but this node shows it only later");
    }
}
