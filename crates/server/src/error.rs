//! The error type of the whole API: a refusal with its code, or an internal error that is logged
//! and not exposed to clients.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost_blobs::BlobError;
use milepost_catalog::CatalogError;
use milepost_client::api::Problem;
use milepost_model::refusal::Failing;
use milepost_model::{Code, Next, Refusal};

use crate::phrase;

/// For refusals whose message already says what would be valid.
const DEFAULT_HINT: &str = "the reference at /api/v1/docs describes every field";

pub(crate) type ApiResult<T> = Result<T, ApiError>;

#[derive(Debug)]
pub(crate) struct ApiError(pub Refusal);

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<CatalogError> for ApiError {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Refused(refusal) => Self(*refusal),
            // Only the OpenStack interface makes such requests, and it phrases this itself.
            CatalogError::Held(held) => Self(Refusal::new(Code::InUse, held.to_string())),
            error @ (CatalogError::Database { .. } | CatalogError::Busy) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the database failed");
                Self(
                    Refusal::new(Code::Unavailable, "the database failed or does not respond")
                        .failing(Failing::Database)
                        .next(Next::Retry)
                        .next(Next::ReadServerLog),
                )
            }
            error => internal(&error),
        }
    }
}

impl From<BlobError> for ApiError {
    fn from(error: BlobError) -> Self {
        if let BlobError::NoRoom { free } = error {
            tracing::error!(free, "an upload was refused, because the disk has too little room");
            return Self(
                Refusal::new(
                    Code::NoDiskSpace,
                    format!("the server's disk has too little room for this: {} MiB are free", free >> 20),
                )
                .failing(Failing::BlobStore)
                .correct("free some space on the server, and send it again"),
            );
        }
        if !error.is_senders() {
            tracing::error!(error = &error as &dyn std::error::Error, "the blob store failed");
            return Self(
                Refusal::new(Code::Unavailable, "the blob store failed or does not respond")
                    .failing(Failing::BlobStore)
                    .next(Next::Retry)
                    .next(Next::ReadServerLog),
            );
        }
        let (code, hint) = match &error {
            BlobError::DigestMismatch { .. } => (Code::DigestMismatch, "send it again"),
            // Does not suggest a retry: the same bytes would be rejected again.
            BlobError::TooLarge { .. } => (Code::UploadTooLarge, "send less, or move the app to a larger plan"),
            BlobError::TooMany { .. } => (Code::UploadTooLarge, "send it in several packs"),
            BlobError::Malformed(_) => (Code::InvalidUpload, "make the pack again, and send that"),
            _ => (Code::InvalidUpload, "send it again"),
        };
        Self(Refusal::new(code, format!("the upload was refused: {error}; nothing was stored")).correct(hint))
    }
}

pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> ApiError {
    tracing::error!(error, "a request failed");
    ApiError(Refusal::new(Code::Internal, "something went wrong inside the server").next(Next::ReadServerLog))
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let hint = phrase::hint(&self.0);
        let Refusal { code, message, next, facts } = self.0;
        let blockers = phrase::blockers(&facts);
        let status = StatusCode::from_u16(code.class().status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let problem = Problem {
            kind: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            code: code.as_str().to_owned(),
            detail: message,
            hint: hint.or_else(|| Some(DEFAULT_HINT.to_owned())),
            blockers,
            next,
            facts,
        };
        let mut response = (status, axum::Json(problem)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
