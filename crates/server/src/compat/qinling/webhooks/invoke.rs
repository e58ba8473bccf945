use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names::{self, Path};
use crate::executions::webhook;
use crate::state::Shared;

/// Needs no token: knowing the id is enough.
pub(crate) async fn invoke(
    state: Shared,
    Path(id): Path<String>,
    request: Request,
) -> V1Result<(StatusCode, Json<Value>)> {
    let known = names::id(&id)?;
    let description = format!("Created by Webhook {known}");
    let execution = match webhook::invoke(&state, &known, request, description).await {
        Err(error) if error.0.code == milepost_model::Code::WebhookNotFound => {
            return Err(Fault::unknown("Webhook", "id", &id));
        }
        other => other?,
    };
    Ok((StatusCode::ACCEPTED, Json(json!({ "execution_id": execution.id }))))
}
