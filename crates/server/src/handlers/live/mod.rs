pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod rollback;
pub(crate) mod set;
