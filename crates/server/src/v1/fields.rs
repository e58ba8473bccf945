//! Bodies of JSON. A null is the same as nothing: clients send nulls for what they were not given.

use axum::extract::{FromRequest, Request};
use serde_json::{Map, Value};

use super::fault::{Fault, V1Result};
use crate::extract::Json;
use crate::state::State;

#[derive(Debug, Default)]
pub(crate) struct Fields(Map<String, Value>);

impl FromRequest<State> for Fields {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &State) -> Result<Self, Fault> {
        let Json(value) = Json::<Value>::from_request(request, state).await?;
        match value {
            Value::Object(fields) => Ok(Self::of(fields)),
            _ => Err(Fault::bad("The body of the request must be a JSON object.")),
        }
    }
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
