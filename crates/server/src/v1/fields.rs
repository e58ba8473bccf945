//! Bodies of JSON. A null is the same as nothing: clients send nulls for what they were not given.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use futures::StreamExt;
use milepost_model::{Code, Refusal};
use serde_json::{Map, Value};

use super::fault::{Fault, V1Result};
use crate::extract::{Json, declared_length};
use crate::handlers::executions::check_text;
use crate::state::State;

/// More than any input may have.
const MAX_BODY: u64 = 32 << 20;
const MOST_HEARD: usize = 256 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(crate) struct Fields(Map<String, Value>);

impl FromRequest<State> for Fields {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &State) -> Result<Self, Fault> {
        if declared_length(request.headers()).is_some_and(|length| length > MAX_BODY) {
            hear_out(request).await;
            return Err(too_large());
        }
        let Json(value) = Json::<Value>::from_request(request, state).await?;
        match value {
            Value::Object(fields) => Ok(Self::of(fields)),
            _ => Err(Fault::bad("The body of the request must be a JSON object.")),
        }
    }
}

/// The clients of this interface send all of a body before they listen, and take a closed connection for a broken server. So
/// what will be refused is read to its end, within reason.
async fn hear_out(request: Request) {
    let reading = async {
        let mut body = request.into_body().into_data_stream();
        let mut read = 0;
        while let Some(Ok(chunk)) = body.next().await {
            read += chunk.len();
            if read > MOST_HEARD {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, reading).await;
}

fn too_large() -> Fault {
    let message = format!("The request is larger than the {} MiB that a body of JSON may have.", MAX_BODY >> 20);
    Refusal::new(Code::RequestTooLarge, message).hint("store it elsewhere, and give the function its address").into()
}

impl Fields {
    pub(crate) fn of(fields: Map<String, Value>) -> Self {
        Self(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> V1Result<Option<String>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(name, other, "a string")),
        }
    }

    /// A name or a description: a text that stands in every list.
    pub(crate) fn short_text(&self, name: &str) -> V1Result<Option<String>> {
        let text = self.text(name)?;
        check_text(name, text.as_deref().unwrap_or_default())?;
        Ok(text)
    }

    /// Forms have only text, so digits are a number.
    pub(crate) fn int(&self, name: &str) -> V1Result<Option<i64>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Number(number)) if number.is_i64() => Ok(number.as_i64()),
            Some(Value::String(text)) if text.trim().parse::<i64>().is_ok() => Ok(text.trim().parse().ok()),
            Some(other) => Err(wrong(name, other, "an integer")),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> V1Result<Option<bool>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if is_true(text).is_some() => Ok(is_true(text)),
            Some(other) => Err(wrong(name, other, "a boolean")),
        }
    }
}

/// As OpenStack reads flags.
pub(crate) fn is_true(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "off" | "f" | "n" | "" => Some(false),
        _ => None,
    }
}

fn wrong(name: &str, value: &Value, wanted: &str) -> Fault {
    let shown: String = value.to_string().chars().take(80).collect();
    Fault::bad(format!("Invalid input for field/attribute {name}. Value: '{shown}'. It must be {wanted}."))
}
