//! The REST interface of seed 004 (OpenStack Qinling's v1), for its existing clients, over the same ledger as everything else.
//!
//! What maps to what, and what is chosen where the interface is silent:
//! - A **project** is an app. A token for one app is that project; a token for all apps is the project `default`. The role
//!   decides what is allowed there, as everywhere; `admin` for all apps may also read other projects (`project.rs`).
//! - A **runtime** is an environment. Runtimes are made in the maker's project and, while `is_public`, seen and used from all
//!   others: a function that uses one of another project gets an environment of its own app that is equal to it.
//! - A **function** is a function and a package of its own. The package keeps the zip that came in as its source, and what was
//!   in it as what runs. Names of v1 are free text and need not be unique, so they stand in the facts of the unit.
//! - The **head** (version 0) is the newest version of the ledger; a **version** is one that was published (`v1_versions`).
//! - **Workers** are instances on the node that is asked.
//! - Lists answer the newest [`lists::MOST`] of what fits.
//! - Errors are [`fault::Fault`]s; what stands in the way of a delete is listed under `blockers`.
//!
//! To add a call: a file `RESOURCE/VERB.rs` with one handler, and a line in [`router`].

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
        // Clients and the seed write lists with a slash at the end as well.
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

/// Something that is served changed: the next request sees it. What fails here is caught up with later.
async fn changed(state: &State, app: &AppName) {
    state.executions.wake_scheduler();
    if let Err(error) = state.views.refresh(app).await {
        tracing::warn!(message = %error.0.message, "the change is made, but this node shows it only later");
    }
}
