//! Why a folder could not be read, planned or applied, as data. The front end phrases it.

use std::io;
use std::path::PathBuf;

use milepost_client::ClientError;
use milepost_client::source::SourceError;
use milepost_model::change::UnitKey;
use milepost_model::channel::SemVerError;
use milepost_model::{Code, NameError, UnitName};

use super::{Place, Problem};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder has mistakes, so nothing was sent.
    #[error("the folder has {} mistakes", .errors.len())]
    Mistakes { errors: Vec<Problem>, warnings: Vec<Problem> },
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The connection broke twice, so the change may or may not have been applied.
    #[error("the connection to the server broke, and the change may or may not have been applied")]
    OutcomeUnknown(#[source] ClientError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("folder `{}` does not exist", .path.display())]
    NoFolder { path: PathBuf },
    #[error("`{}` is not a folder of specs", .path.display())]
    NotSpecs { path: PathBuf },
    #[error("no specs found in `{}`", .path.display())]
    NoSpecs { path: PathBuf },
    #[error("no `milepost.yaml` found in `{}`", .path.display())]
    NoManifest { path: PathBuf },
    #[error("`{}` is not valid YAML", .file.display())]
    NotYaml { file: PathBuf },
    #[error("`{}` has no `version`", .file.display())]
    NoVersion { file: PathBuf },
    #[error("{place}: `version`: {error}")]
    BadVersion { place: Place, error: SemVerError },
    #[error("could not read `{}`", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("could not write `{}`", .path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("`{}` already exists", .path.display())]
    Exists { path: PathBuf },
    #[error("{place}: the path `{}` is not valid UTF-8", .path.display())]
    NotUtf8 { place: Place, path: PathBuf },
    /// An operation without a file that the user knows, such as a temporary one.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Work on another thread panicked, or the runtime is shutting down.
    #[error("{task} failed")]
    Stopped { task: &'static str, source: tokio::task::JoinError },
    #[error("the download was interrupted")]
    Interrupted(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the downloaded files of {key}, version {number}, do not match their digest")]
    WrongDigest { key: UnitKey, number: i64 },
    #[error("the server returned an invalid environment")]
    InvalidEnvironment(#[source] serde_json::Error),
    #[error("app {app} has no environment `{name}`")]
    NoEnvironment { app: String, name: UnitName },
    #[error("the build of package `{package}` failed: {reason}")]
    BuildFailed { app: String, package: UnitName, id: Option<String>, reason: String },
    #[error("the build of package `{package}` ended without a result")]
    BuildUnfinished { package: UnitName },
    /// The change would undo manual changes, and the front end could not ask about them.
    #[error("this would undo changes made by hand")]
    HandEdits,
    /// The user answered a question with no.
    #[error("cancelled, nothing was changed")]
    Cancelled,
}

impl Error {
    pub fn mistakes(errors: Vec<Problem>, warnings: Vec<Problem>) -> Self {
        Self::Mistakes { errors, warnings }
    }

    /// The server's error code, if the server refused a request.
    pub fn code(&self) -> Option<Code> {
        let Self::Client(ClientError::Refused(problem)) = self else { return None };
        Code::ALL.iter().copied().find(|code| code.as_str() == problem.code)
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        Self::Client(error.into())
    }
}
