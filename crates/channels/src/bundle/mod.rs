//! A channel in a single file, for use without a network: a tar with the index files, their
//! signatures, and artifacts.
//!
//! Entries have a fixed order and no times, owners or host names, so the same channel gives the
//! same bytes. `tar -tf` lists it. Reading is strict: anything that `milepost bundle` would not
//! write is rejected.

mod read;
mod tar;
mod write;

pub use read::Bundle;
pub use write::{BundleSummary, write};
