pub(crate) mod get;
pub(crate) mod missing;
pub(crate) mod upload;
