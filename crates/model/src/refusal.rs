//! Refusals: why a request was not carried out, as data. The code and the facts are for programs;
//! each front end phrases the next steps (`docs/decisions/014-errors-are-data.md`).

mod facts;
mod next;
mod sampled;
mod warning;

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

pub use facts::{Facts, Failing, Limit, Part, Use, User, UserKind};
pub use next::{Field, Next, View};
pub use warning::{OwnedUnit, ServedBy, Warning};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub code: Code,
    /// What is wrong, for people and logs: lower case, with the values in backticks. Names no
    /// command and no option of a front end.
    pub message: String,
    /// What the caller can do, the best step first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Next>,
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Box<Facts>,
}

/// Data of a server that is newer than its client, for `deserialize_with`: what is not understood is
/// replaced by its default and fails nothing.
pub fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Like [`lenient`], for each item of a list.
pub fn lenient_list<'de, D: Deserializer<'de>, T: DeserializeOwned + FromNewer>(from: D) -> Result<Vec<T>, D::Error> {
    let values = Vec::<serde_json::Value>::deserialize(from)?;
    Ok(values.into_iter().map(|value| T::deserialize(value).unwrap_or(T::UNKNOWN)).collect())
}

/// An enum with a variant for what a newer server sends.
pub trait FromNewer {
    const UNKNOWN: Self;
}

impl FromNewer for Next {
    const UNKNOWN: Self = Self::Unknown;
}

impl FromNewer for Warning {
    const UNKNOWN: Self = Self::Unknown;
}

macro_rules! codes {
    ($($code:ident => $text:literal, $class:ident;)*) => {
        /// Stable error codes: add, never rename.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub enum Code {
            $(#[serde(rename = $text)] $code,)*
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$code => $text,)* }
            }

            pub fn class(self) -> Class {
                match self { $(Self::$code => Class::$class,)* }
            }
        }
    };
}

/// The class of a code, which determines the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Invalid,
    Unauthenticated,
    Forbidden,
    NotFound,
    WrongMethod,
    /// The client took too long to send the request.
    TooSlow,
    Conflict,
    Gone,
    TooLarge,
    Limit,
    /// Too many requests, or too many at once; the client may retry later.
    TooMany,
    Unavailable,
    /// The server's disk has too little room.
    NoDiskSpace,
    Internal,
    /// A function failed to respond properly.
    Upstream,
    UpstreamTimeout,
}

impl Class {
    /// The HTTP status of the API response.
    pub fn status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::WrongMethod => 405,
            Self::TooSlow => 408,
            Self::Conflict => 409,
            Self::Gone => 410,
            Self::TooLarge => 413,
            Self::Limit => 422,
            Self::TooMany => 429,
            Self::Internal => 500,
            Self::Upstream => 502,
            Self::Unavailable => 503,
            Self::UpstreamTimeout => 504,
            Self::NoDiskSpace => 507,
        }
    }
}

codes! {
    InvalidRequest => "invalid_request", Invalid;
    InvalidName => "invalid_name", Invalid;
    InvalidSelector => "invalid_selector", Invalid;
    InvalidSpec => "invalid_spec", Invalid;
    InvalidCursor => "invalid_cursor", Invalid;
    InvalidTime => "invalid_time", Invalid;
    InvalidUpload => "invalid_upload", Invalid;
    DigestMismatch => "digest_mismatch", Invalid;
    ArtifactRefused => "artifact_refused", Invalid;
    UploadTooLarge => "upload_too_large", TooLarge;
    RequestTooLarge => "request_too_large", TooLarge;
    RequestTimeout => "request_timeout", TooSlow;
    Unauthenticated => "unauthenticated", Unauthenticated;
    Forbidden => "forbidden", Forbidden;
    RouteNotFound => "route_not_found", NotFound;
    MethodNotAllowed => "method_not_allowed", WrongMethod;
    AppNotFound => "app_not_found", NotFound;
    UnitNotFound => "unit_not_found", NotFound;
    VersionNotFound => "version_not_found", NotFound;
    AliasNotFound => "alias_not_found", NotFound;
    TagNotFound => "tag_not_found", NotFound;
    ReleaseNotFound => "release_not_found", NotFound;
    AppVersionNotFound => "app_version_not_found", NotFound;
    GroupNotFound => "group_not_found", NotFound;
    TokenNotFound => "token_not_found", NotFound;
    BlobNotFound => "blob_not_found", NotFound;
    BuildNotFound => "build_not_found", NotFound;
    ExecutionNotFound => "execution_not_found", NotFound;
    JobNotFound => "job_not_found", NotFound;
    WebhookNotFound => "webhook_not_found", NotFound;
    InstallNotFound => "install_not_found", NotFound;
    RolloutNotFound => "rollout_not_found", NotFound;
    NothingThen => "nothing_then", NotFound;
    AppExists => "app_exists", Conflict;
    UnitExists => "unit_exists", Conflict;
    AliasExists => "alias_exists", Conflict;
    LabelTaken => "label_taken", Conflict;
    TokenExists => "token_exists", Conflict;
    NameTaken => "name_taken", Conflict;
    HeadMoved => "head_moved", Conflict;
    IdempotencyMismatch => "idempotency_mismatch", Conflict;
    InUse => "in_use", Conflict;
    StillReferenced => "still_referenced", Conflict;
    OwnedElsewhere => "owned_elsewhere", Conflict;
    BuildNeeded => "build_needed", Conflict;
    NotPortable => "not_portable", Conflict;
    NoRoom => "no_room", Conflict;
    NothingToRollBackTo => "nothing_to_roll_back_to", Conflict;
    NoRelease => "no_release", Conflict;
    CheckFailed => "check_failed", Conflict;
    MissingBlobs => "missing_blobs", Conflict;
    ExecutionEnded => "execution_ended", Conflict;
    ExecutionNotEnded => "execution_not_ended", Conflict;
    JobFinished => "job_finished", Conflict;
    InstallExists => "install_exists", Conflict;
    InstallBusy => "install_busy", Conflict;
    MissingInputs => "missing_inputs", Conflict;
    UpgradeRefused => "upgrade_refused", Conflict;
    ChannelRefused => "channel_refused", Conflict;
    ReleaseExpired => "release_expired", Gone;
    VersionDeleted => "version_deleted", Gone;
    PlanLimit => "plan_limit", Limit;
    NoDiskSpace => "no_disk_space", NoDiskSpace;
    QueueFull => "queue_full", TooMany;
    TooManyRunning => "too_many_running", TooMany;
    RateLimited => "rate_limited", TooMany;
    ChannelUnavailable => "channel_unavailable", Unavailable;
    Unavailable => "unavailable", Unavailable;
    TimedOut => "timed_out", Unavailable;
    FunctionFailed => "function_failed", Internal;
    FunctionBusy => "function_busy", Unavailable;
    FunctionNotReady => "function_not_ready", Unavailable;
    FunctionTimeout => "function_timeout", UpstreamTimeout;
    FunctionCrashed => "function_crashed", Upstream;
    ArtifactBroken => "artifact_broken", Upstream;
    FunctionMalformedResponse => "function_malformed_response", Upstream;
    Internal => "internal", Internal;
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), next: Vec::new(), facts: Box::default() }
    }

    /// Adds a step after those that are there.
    #[must_use]
    pub fn next(mut self, next: Next) -> Self {
        self.next.push(next);
        self
    }

    /// Adds a step that the caller takes by looking at something.
    #[must_use]
    pub fn see(self, view: View) -> Self {
        self.next(Next::See { view })
    }

    /// Adds a field that the caller can give.
    #[must_use]
    pub fn give(self, field: Field) -> Self {
        self.next(Next::Give { field })
    }

    /// Adds a correction of the request: a neutral sentence that holds for every front end.
    #[must_use]
    pub fn correct(self, how: impl Into<String>) -> Self {
        self.next(Next::Correct { how: how.into() })
    }

    #[must_use]
    pub fn users(mut self, users: Vec<User>) -> Self {
        self.facts.users = users;
        self
    }

    #[must_use]
    pub fn missing(mut self, missing: Vec<String>) -> Self {
        self.facts.missing = missing;
        self
    }

    #[must_use]
    pub fn parts(mut self, parts: Vec<Part>) -> Self {
        self.facts.parts = parts;
        self
    }

    #[must_use]
    pub fn deleted(mut self, deleted: Vec<String>) -> Self {
        self.facts.deleted = deleted;
        self
    }

    #[must_use]
    pub fn candidates(mut self, candidates: Vec<String>) -> Self {
        self.facts.candidates = candidates;
        self
    }

    #[must_use]
    pub fn limit(mut self, bound: u64, asked: u64) -> Self {
        self.facts.limit = Some(Limit { bound, asked });
        self
    }

    #[must_use]
    pub fn failing(mut self, part: Failing) -> Self {
        self.facts.failing = Some(part);
        self
    }

    /// Refuses an unknown name with the closest existing ones, or `otherwise` if none is close.
    pub fn not_found(
        code: Code,
        message: impl Into<String>,
        wanted: &str,
        existing: &[String],
        otherwise: impl IntoIterator<Item = Next>,
    ) -> Self {
        let mut refusal = Self::new(code, message);
        let names = crate::suggest::closest(wanted, existing.iter().map(String::as_str));
        if names.is_empty() {
            refusal.next.extend(otherwise);
            return refusal;
        }
        refusal.next(Next::DidYouMean { names })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<crate::NameError> for Refusal {
    fn from(error: crate::NameError) -> Self {
        Self::new(Code::InvalidName, format!("`{}` is not a valid {} name", error.name, error.what)).correct(error.rule)
    }
}

impl From<crate::unit_put::SpecError> for Refusal {
    fn from(error: crate::unit_put::SpecError) -> Self {
        let hint = if error.hint.is_empty() { "give another value".to_owned() } else { error.hint.clone() };
        Self::new(Code::InvalidSpec, error.sentence()).correct(hint)
    }
}

impl From<crate::selector::SelectorError> for Refusal {
    fn from(error: crate::selector::SelectorError) -> Self {
        Self::new(Code::InvalidSelector, error.sentence()).correct(crate::selector::SELECTOR_HINT)
    }
}
