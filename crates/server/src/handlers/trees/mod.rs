pub(crate) mod get;
