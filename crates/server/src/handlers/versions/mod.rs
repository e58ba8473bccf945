pub(crate) mod delete;
pub(crate) mod describe;
pub(crate) mod download;
pub(crate) mod get;
pub(crate) mod list;
