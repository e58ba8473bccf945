//! Work that nobody waits for.

pub(crate) mod rekey;
pub(crate) mod sweep;
