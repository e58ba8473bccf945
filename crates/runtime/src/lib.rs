//! Runs function versions: executors, instance pools, the sandbox and function output.
//!
//! This crate does not know about releases, app versions or databases. It gets a complete
//! [`Function`] and a [`Host`] that supplies files and accepts log lines.
//! `docs/decisions/005-runtime.md` describes the protocol and the reasons behind it.
//!
//! [`Runtime::build`] runs build commands in the same sandbox, apart from the executors: both start
//! their processes on the `machine`.
//!
//! To add an executor, implement [`executor::Executor`] with its instance and slot types in a
//! folder of its own, and add a line to the table in `executors.rs`.

mod build;
mod call;
pub mod executor;
mod executors;
mod function;
mod host;
mod machine;
mod pool;
mod process;
mod removal;
mod run_folder;
mod runtime;
pub mod sandbox;
mod settings;

pub use build::{BuildFailure, BuildOrder, BuildRoom, DiskLimit, sweep_build_caches};
pub use call::{CallContext, CallError, Ended, Thrown};
pub use executor::BodyError;
pub use executors::ResponseBody;
pub use function::{Function, SealedValue};
pub use host::{Host, HostError, LogLine, LogSource, Package};
pub use pool::{PoolStatus, RecentError};
pub use runtime::Runtime;
pub use settings::{RuntimeSettings, Spares};
