//! Runs function versions: executors, the pool around them, the sandbox, and what functions write.
//!
//! This crate does not know what a release, an app version or a database is: it gets a [`Function`], complete, and a
//! [`Host`] that brings files and takes log lines. `docs/decisions/005-runtime.md` has the protocol and the reasons.
//!
//! [`Runtime::build`] runs the command of a build behind the same walls.
//!
//! To add an executor: implement [`executor::Executor`] and its instance and slot, and an arm in `runtime.rs`.

mod build;
mod call;
pub mod executor;
mod function;
mod host;
mod pool;
mod process;
mod removal;
mod runtime;
pub mod sandbox;
mod settings;

pub use build::{BuildFailure, BuildOrder, BuildRoom, DiskLimit, sweep_build_caches};
pub use call::{CallContext, CallError};
pub use executor::BodyError;
pub use function::{Function, SealedValue};
pub use host::{Host, HostError, LogLine, LogSource, Package};
pub use pool::{PoolStatus, RecentError};
pub use runtime::{ResponseBody, Runtime};
pub use settings::{RuntimeSettings, Spares};
