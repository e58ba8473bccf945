//! Upkeep in the background: what nothing needs is removed, and old rows are rewritten.

pub(crate) mod rekey;
pub(crate) mod sweep;
