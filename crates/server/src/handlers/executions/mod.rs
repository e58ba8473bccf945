//! Executions: who may call a function may start and stop them, everybody who reads may look, and an operator may
//! forget them.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod log;

use milepost_model::execution::{CauseKind, Execution, MAX_DEPTH, MAX_INPUT};
use milepost_model::{Code, Permission, RawJson, Refusal};

use crate::auth::Caller;

const MAX_DESCRIPTION: usize = 4 << 10;

/// The id of a webhook is an address that starts something, so who may not start anything sees only its beginning.
fn seen_by(caller: &Caller, mut execution: Execution) -> Execution {
    if execution.cause.kind == CauseKind::Webhook && !caller.row().role.may(Permission::Invoke) {
        let id = execution.cause.id.unwrap_or_default();
        execution.cause.id = Some(format!("{}…", id.chars().take(8).collect::<String>()));
        execution.cause.name = None;
    }
    execution
}

/// Inputs stand in the database, and everybody who lists executions reads them.
pub(crate) fn check_input(input: Option<&RawJson>) -> Result<(), Refusal> {
    let Some(input) = input else { return Ok(()) };
    let length = input.as_str().len();
    if length > MAX_INPUT {
        let message = format!("The input has {length} bytes, and {MAX_INPUT} (1 MiB) is the most.");
        let hint = "store it elsewhere, and give the function its address";
        return Err(Refusal::new(Code::RequestTooLarge, message).hint(hint));
    }
    if input.depth() > MAX_DEPTH {
        let message = format!("In the input more than {MAX_DEPTH} lists and objects stand inside each other.");
        return Err(Refusal::new(Code::InvalidRequest, message).hint("send what is that deep as a text"));
    }
    Ok(())
}

pub(crate) fn check_text(what: &str, text: &str) -> Result<(), Refusal> {
    if text.len() <= MAX_DESCRIPTION {
        return Ok(());
    }
    let message = format!("The {what} has {} bytes, and {MAX_DESCRIPTION} is the most.", text.len());
    Err(Refusal::new(Code::InvalidRequest, message).hint("say it in fewer words"))
}
