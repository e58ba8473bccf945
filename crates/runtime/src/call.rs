//! The context of a call, and the errors it can fail with.

use std::net::IpAddr;
use std::time::Duration;

/// Facts about a request that are not in its headers.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    pub request_id: Box<str>,
    pub release: Box<str>,
    pub client: Option<IpAddr>,
    /// The pattern of the matched route. Empty for calls without routing.
    pub route: Box<str>,
    pub params: Vec<(Box<str>, Box<str>)>,
    /// Lets the function call other functions of the same release.
    pub call_token: Box<str>,
    /// How long the call waits for an instance, if shorter than the runtime's own limit.
    pub patience: Option<Duration>,
}

/// Why there is no response. Every message may be shown to the caller. Details are in the log under
/// the request id.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// `waited` is how long the call was queued. `None` means that the queue was full.
    #[error("all instances are busy and {}", Refused(*waited))]
    Busy { retry_after: Duration, waited: Option<Duration> },
    #[error("the function did not answer within {}", Seconds(*after))]
    TimedOut { after: Duration },
    #[error("no instance of the function became ready: {reason}")]
    NotReady { reason: String },
    /// The server's fault rather than the function's.
    #[error("the function's code could not be fetched: {reason}")]
    NotFetched { reason: String },
    /// The server's fault rather than the function's: another server may be able to run it.
    #[error("the server could not start the function: {reason}")]
    NotStarted { reason: String },
    #[error("the function's process ended before it answered ({how})")]
    Crashed { how: Ended },
    #[error("the function threw: {0}")]
    Threw(Thrown),
    #[error("the function returned an invalid response: {problem}")]
    Malformed { problem: String },
    #[error("the request's body could not be read: {problem}")]
    RequestBody { problem: String, too_large: bool },
    #[error("the server is stopping")]
    Stopping,
}

impl CallError {
    /// The HTTP status, which also shows whose fault the failure is.
    pub fn status(&self) -> u16 {
        match self {
            Self::Busy { .. }
            | Self::NotReady { .. }
            | Self::NotFetched { .. }
            | Self::NotStarted { .. }
            | Self::Stopping => 503,
            Self::TimedOut { .. } => 504,
            Self::Crashed { .. } | Self::Malformed { .. } => 502,
            Self::Threw(_) => 500,
            Self::RequestBody { too_large, .. } => {
                if *too_large {
                    413
                } else {
                    400
                }
            }
        }
    }

    /// A stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "function_busy",
            Self::TimedOut { .. } => "function_timeout",
            Self::NotReady { .. } | Self::NotFetched { .. } | Self::NotStarted { .. } => "function_not_ready",
            Self::Crashed { .. } => "function_crashed",
            Self::Threw(_) => "function_failed",
            Self::Malformed { .. } => "function_malformed_response",
            Self::RequestBody { .. } => "request_body",
            Self::Stopping => "server_stopping",
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    pub how: String,
    /// It was killed, by the kernel or at a limit, and did not exit by itself.
    pub killed: bool,
}

impl Ended {
    pub(crate) fn exited(how: impl Into<String>) -> Self {
        Self { how: how.into(), killed: false }
    }

    pub(crate) fn killed(how: impl Into<String>) -> Self {
        Self { how: how.into(), killed: true }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.how)
    }
}

/// An exception of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    /// One line, with the name of the exception.
    pub message: String,
    /// The exception's own text, without its name.
    pub text: String,
    /// The function reached its limit of memory or of processes.
    pub exhausted: bool,
}

impl std::fmt::Display for Thrown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Why a call got no instance although some are running.
struct Refused(Option<Duration>);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(waited) => write!(f, "none was free within {}", Seconds(waited)),
            None => f.write_str("the queue is full"),
        }
    }
}

/// Formats a duration in seconds.
pub(crate) struct Seconds(pub Duration);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}
