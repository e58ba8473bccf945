pub(crate) mod diff;
pub(crate) mod get;
pub(crate) mod list;
