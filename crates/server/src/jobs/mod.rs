//! Background jobs.

pub(crate) mod rekey;
pub(crate) mod sweep;
