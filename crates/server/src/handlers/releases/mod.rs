pub(crate) mod create;
pub(crate) mod expire;
pub(crate) mod get;
pub(crate) mod list;
