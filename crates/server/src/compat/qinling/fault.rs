//! Errors of the v1 interface: `{"faultcode", "faultstring", "debuginfo"}`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost_catalog::{CatalogError, V1Held, V1Holder, V1Kept};
use milepost_model::refusal::Class;
use milepost_model::{Code, Refusal};
use serde_json::json;

use super::phrase;
use crate::error::ApiError;

pub(crate) type V1Result<T> = Result<T, Fault>;

#[derive(Debug)]
pub(crate) struct Fault {
    status: StatusCode,
    message: String,
    /// Everything that blocks the request. Clients show only the message, but scripts can read this
    /// list.
    blockers: Vec<String>,
}

impl Fault {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), blockers: Vec::new() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// For requests without a known token.
    pub(crate) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// `what` is the v1 name of the resource, such as `Function`.
    pub(crate) fn unknown(what: &str, by: &str, value: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("{what} not found [{by}={value}]"))
    }

    pub(crate) fn unknown_version(function_id: &str, version: &str) -> Self {
        let message = format!("FunctionVersion not found [function_id={function_id}, version_number={version}]");
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn missing(fields: &str) -> Self {
        Self::bad(format!("Required param is missing. Required: {{{fields}}}"))
    }

    pub(crate) fn no_such_call(message: String, status: StatusCode) -> Self {
        Self::new(status, message)
    }
}

/// Returns whether the catalog reported that something does not exist. v1 has its own messages for
/// that.
pub(crate) fn is_unknown(error: &CatalogError) -> bool {
    matches!(error, CatalogError::Refused(refusal) if matches!(refusal.code.class(), Class::NotFound | Class::Gone))
}

fn status_of(code: Code) -> StatusCode {
    let number = match code {
        Code::InUse | Code::StillReferenced | Code::ExecutionNotEnded => 403,
        Code::JobFinished => 400,
        _ => match code.class() {
            Class::Gone => 404,
            Class::Limit => 403,
            class => class.status(),
        },
    };
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let steps = phrase::sentences(&refusal);
        let Refusal { code, message, facts, next: _ } = refusal;
        let blockers = crate::phrase::blockers(&facts);
        let mut sentences = vec![phrase::sentence(&message)];
        // Clients show only this text, and the steps are about what is named here.
        if code == Code::InUse && !blockers.is_empty() {
            sentences.push(phrase::used_by(&blockers));
        }
        sentences.extend(steps);
        Self { status: status_of(code), message: sentences.join(" "), blockers }
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        error.0.into()
    }
}

impl From<CatalogError> for Fault {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Held(held) => (*held).into(),
            error => ApiError::from(error).into(),
        }
    }
}

/// Reports the first kind that was found. All holders are listed as blockers.
impl From<V1Held> for Fault {
    fn from(held: V1Held) -> Self {
        use V1Holder::{Alias, Execution, Job, Webhook};
        use V1Kept::{Function, FunctionVersion};
        let what = match held.kept {
            Function => "function",
            FunctionVersion => "function version",
        };
        let by = match (held.kept, held.by.first().map_or(Job, |(holder, _)| *holder)) {
            (_, Job) => "running job(s)",
            (Function, Webhook) => "webhook(s)",
            (FunctionVersion, Webhook) => "webhook",
            (Function, Alias) => "function alias(es)",
            (FunctionVersion, Alias) => "alias",
            (_, Execution) => "running execution(s)",
        };
        let blocker = |(holder, name)| match holder {
            Job => format!("job {name}"),
            Webhook => format!("webhook {name}"),
            Alias => format!("alias {name}"),
            Execution => format!("execution {name}"),
        };
        Self {
            status: StatusCode::FORBIDDEN,
            message: format!("The {what} is still associated with {by}."),
            blockers: held.by.into_iter().map(blocker).collect(),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let code = if self.status.is_server_error() { "Server" } else { "Client" };
        let mut body = json!({ "faultcode": code, "faultstring": self.message, "debuginfo": null });
        if !self.blockers.is_empty() {
            body["blockers"] = json!(self.blockers);
        }
        let mut response = (self.status, axum::Json(body)).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
