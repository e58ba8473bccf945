//! A channel in one file, for where there is no network: a tar with the index files, their signatures, and artifacts.
//!
//! The order is fixed and there are no times, owners or names of machines in it, so the same channel gives the same
//! bytes. `tar -tf` lists it. Reading is strict: what `milepost bundle` would not have written is refused.

mod read;
mod tar;
mod write;

pub use read::Bundle;
pub use write::{BundleSummary, write};
