//! Executions. Callers that may call a function may start and cancel its executions, readers may
//! look at them, and operators may delete them.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod log;

use milepost_model::Permission;
use milepost_model::execution::{CauseKind, Execution};

use crate::auth::Caller;

/// Shortens webhook ids for callers that may not start anything: the id is part of a URL that
/// starts an execution.
fn seen_by(caller: &Caller, mut execution: Execution) -> Execution {
    if execution.cause.kind == CauseKind::Webhook && !caller.row().role.may(Permission::Invoke) {
        let id = execution.cause.id.unwrap_or_default();
        execution.cause.id = Some(format!("{}…", id.chars().take(8).collect::<String>()));
        execution.cause.name = None;
    }
    execution
}
