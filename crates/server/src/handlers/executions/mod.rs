//! Executions: who may call a function may start and stop them, everybody who reads may look, and an operator may
//! forget them.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod log;

use milepost_model::execution::{CauseKind, Execution, MAX_INPUT};
use milepost_model::{Code, Permission, Refusal};
use serde_json::Value;

use crate::auth::Caller;

const MAX_DESCRIPTION: usize = 4 << 10;

/// The id of a webhook is an address that starts something, so who may not start anything sees only its beginning.
fn seen_by(caller: &Caller, mut execution: Execution) -> Execution {
    if execution.cause.kind == CauseKind::Webhook && !caller.row().role.may(Permission::Invoke) {
        let id = execution.cause.id.unwrap_or_default();
        execution.cause.id = Some(format!("{}…", id.chars().take(8).collect::<String>()));
    }
    execution
}

/// Inputs stand in the database.
pub(crate) fn check_input(input: Option<&Value>) -> Result<(), Refusal> {
    let length = input.map_or(0, |input| input.to_string().len());
    if length <= MAX_INPUT {
        return Ok(());
    }
    let message = format!("The input has {length} bytes, and {MAX_INPUT} (1 MiB) is the most.");
    Err(Refusal::new(Code::RequestTooLarge, message).hint("store it elsewhere, and give the function its address"))
}

pub(crate) fn check_text(what: &str, text: &str) -> Result<(), Refusal> {
    if text.len() <= MAX_DESCRIPTION {
        return Ok(());
    }
    let message = format!("The {what} has {} bytes, and {MAX_DESCRIPTION} is the most.", text.len());
    Err(Refusal::new(Code::InvalidRequest, message).hint("say it in fewer words"))
}
