pub(crate) mod sweep;
pub(crate) mod why;
