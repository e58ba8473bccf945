//! Work that nobody waits for.

pub(crate) mod sweep;
