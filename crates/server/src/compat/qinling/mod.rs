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
mod phrase;
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
use axum::routing::MethodRouter;

use crate::edge::rule::{ADMINISTER, CHANGE_CODE, INVOKE, MOVE_POINTER, OPEN, READ, Rule, TOKEN};
use crate::state::State;

pub(crate) fn router() -> Router<State> {
    let mut router = Router::new()
        .route("/", OPEN.get(root::versions).fallback(root::wrong_method_of_open_call))
        .route("/v1/functions/{id}/detach", SCALE.post(functions::detach::head))
        .route("/v1/functions/{id}/scale_up", SCALE.post(functions::scale_up::head))
        .route("/v1/functions/{id}/scale_down", SCALE.post(functions::scale_down::head))
        .route("/v1/functions/{id}/versions/{version}/detach", SCALE.post(functions::detach::version))
        .route("/v1/functions/{id}/versions/{version}/scale_up", SCALE.post(functions::scale_up::version))
        .route("/v1/functions/{id}/versions/{version}/scale_down", SCALE.post(functions::scale_down::version))
        .route("/v1/executions/{id}/log", READ.get(executions::log::log))
        .route("/v1/runtimes/{id}/pool", ADMINISTER.get(runtimes::pool::pool))
        .route(
            "/v1/webhooks/{id}/invoke",
            OPEN.stream().post(webhooks::invoke::invoke).fallback(root::wrong_method_of_open_call),
        );
    for (path, calls) in resources() {
        // Clients, and the seed, also request lists with a trailing slash.
        router = router.route(path, calls.clone()).route(&format!("{path}/"), calls);
    }
    router
        .route("/v1/{*unknown}", TOKEN.any(root::unknown))
        .method_not_allowed_fallback(root::wrong_method)
        .layer(DefaultBodyLimit::max(form::MAX_BODY))
        .layer(axum::middleware::from_fn(hearing::hear_out))
}

/// Calls about functions carry code, or wait for instances.
const FUNCTIONS: Rule = CHANGE_CODE.long();
const SCALE: Rule = ADMINISTER.long();

fn resources() -> Vec<(&'static str, MethodRouter<State>)> {
    vec![
        ("/v1", OPEN.get(root::uri).fallback(root::wrong_method_of_open_call)),
        ("/v1/runtimes", READ.get(runtimes::list::list)),
        ("/v1/runtimes", ADMINISTER.post(runtimes::create::create)),
        ("/v1/runtimes/{id}", READ.get(runtimes::get::get)),
        ("/v1/runtimes/{id}", ADMINISTER.put(runtimes::update::update)),
        ("/v1/runtimes/{id}", ADMINISTER.delete(runtimes::delete::delete)),
        ("/v1/functions", READ.long().get(functions::list::list)),
        ("/v1/functions", FUNCTIONS.post(functions::create::create)),
        ("/v1/functions/{id}", READ.long().get(functions::get::get)),
        ("/v1/functions/{id}", FUNCTIONS.put(functions::update::update)),
        ("/v1/functions/{id}", FUNCTIONS.delete(functions::delete::delete)),
        ("/v1/functions/{id}/workers", SCALE.get(functions::workers::list)),
        ("/v1/functions/{id}/versions", READ.long().get(versions::list::list)),
        ("/v1/functions/{id}/versions", FUNCTIONS.post(versions::create::create)),
        ("/v1/functions/{id}/versions/{version}", READ.long().get(versions::get::get)),
        ("/v1/functions/{id}/versions/{version}", FUNCTIONS.put(versions::update::update)),
        ("/v1/functions/{id}/versions/{version}", FUNCTIONS.delete(versions::delete::delete)),
        ("/v1/executions", READ.get(executions::list::list)),
        ("/v1/executions", INVOKE.long().post(executions::create::create)),
        ("/v1/executions/{id}", READ.get(executions::get::get)),
        ("/v1/executions/{id}", INVOKE.put(executions::cancel::cancel)),
        ("/v1/executions/{id}", MOVE_POINTER.delete(executions::delete::delete)),
        ("/v1/jobs", READ.get(jobs::list::list)),
        ("/v1/jobs", MOVE_POINTER.post(jobs::create::create)),
        ("/v1/jobs/{id}", READ.get(jobs::get::get)),
        ("/v1/jobs/{id}", MOVE_POINTER.put(jobs::update::update)),
        ("/v1/jobs/{id}", MOVE_POINTER.delete(jobs::delete::delete)),
        // Knowing a webhook's id is enough to call it, so reading it takes the permission to call.
        ("/v1/webhooks", INVOKE.get(webhooks::list::list)),
        ("/v1/webhooks", MOVE_POINTER.post(webhooks::create::create)),
        ("/v1/webhooks/{id}", INVOKE.get(webhooks::get::get)),
        ("/v1/webhooks/{id}", MOVE_POINTER.put(webhooks::update::update)),
        ("/v1/webhooks/{id}", MOVE_POINTER.delete(webhooks::delete::delete)),
        ("/v1/aliases", READ.get(aliases::list::list)),
        ("/v1/aliases", MOVE_POINTER.post(aliases::create::create)),
        ("/v1/aliases/{name}", READ.get(aliases::get::get)),
        ("/v1/aliases/{name}", MOVE_POINTER.put(aliases::update::update)),
        ("/v1/aliases/{name}", MOVE_POINTER.delete(aliases::delete::delete)),
    ]
}
