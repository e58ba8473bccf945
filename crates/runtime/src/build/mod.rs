//! Builds: runs one command in the sandbox that turns a package's source into what runs.
//!
//! A [`BuildRoom`] is the directory of one build. The caller fills its source, has
//! [`crate::Runtime::build`] run the command, and takes the result out. Dropping the room removes
//! the directory.
//!
//! - `run` starts the command and watches it.
//! - `output` splits its output into lines.
//! - `disk` limits what it writes.
//! - `cache` keeps the package manager's downloads.
//! - `tools` writes the programs that come first on its `PATH`.
//! - `surroundings` selects what it gets of the server's environment.

mod cache;
mod disk;
mod output;
mod room;
mod run;
mod surroundings;
mod tools;

use std::path::PathBuf;
use std::time::Duration;

use milepost_model::spec::Runtime;

pub use cache::sweep_build_caches;
pub use room::BuildRoom;
pub(crate) use run::run;

use crate::sandbox::interpreters::InterpreterError;

/// Memory limit of a build, in bytes.
const MEMORY: u64 = 2 << 30;

/// The command of a build, and its limits.
#[derive(Debug, Clone)]
pub struct BuildOrder {
    pub runtime: Runtime,
    /// The requested interpreter version. Empty means the newest installed.
    pub interpreter: String,
    /// Passed to the shell.
    pub command: String,
    pub limit: Duration,
    pub disk: DiskLimit,
    /// Thousandths of a core. 0 means no limit.
    pub cpu: u32,
    /// Where package managers find the downloads of earlier builds. No other process may use it
    /// during the build.
    pub cache: Option<PathBuf>,
}

/// Bytes of disk that a build may use at any time, including its source and its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLimit {
    pub bytes: u64,
    /// The limit comes from the app's plan rather than from the server's setting.
    pub of_plan: bool,
}

/// Why a build has no result. The text has no full stop.
#[derive(Debug, thiserror::Error)]
pub enum BuildFailure {
    #[error("the command ended with exit code {0}")]
    ExitCode(i32),
    #[error("the command was killed by {0}; see the end of its log")]
    Killed(String),
    #[error(
        "the build was stopped because it took longer than {}; make it do less, or start the server with a longer \
         `--build-timeout`",
        in_words(*.0)
    )]
    TimedOut(Duration),
    #[error("the build used more than its {} MiB of memory; run fewer steps in parallel", MEMORY >> 20)]
    TooMuchMemory,
    #[error("the build was stopped because it wrote more than {} MiB; {}", .0.bytes >> 20, remedy(*.0))]
    TooMuchDisk(DiskLimit),
    #[error(
        "the build was stopped because the server's disk is almost full; free some space or files there and run it again"
    )]
    DiskFull,
    #[error(
        "the command left nothing at $DEPLOY_PKG: what a build makes is the file or folder that it puts there, as in \
         `cp -r $SRC_PKG $DEPLOY_PKG`"
    )]
    NoResult,
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
    #[error("the command could not be started: {0}")]
    NotStarted(String),
    /// Not a failure of the build itself.
    #[error("the server is stopping")]
    Stopping,
}

fn remedy(limit: DiskLimit) -> &'static str {
    if limit.of_plan {
        "that is four times what the app's plan has left to store: remove what the app does not need, or ask for a larger plan"
    } else {
        "make it write less, or start the server with a larger `--build-disk`"
    }
}

fn in_words(limit: Duration) -> String {
    let (count, unit) = match limit.as_secs() {
        0 => (limit.as_millis(), "millisecond"),
        seconds if seconds % 60 == 0 => (u128::from(seconds / 60), "minute"),
        seconds => (u128::from(seconds), "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_a_limit_in_words() {
        for (seconds, words) in [(600, "10 minutes"), (60, "1 minute"), (90, "90 seconds"), (1, "1 second")] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
        assert_eq!(in_words(Duration::from_millis(200)), "200 milliseconds");
    }
}
