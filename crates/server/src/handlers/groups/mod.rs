pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
