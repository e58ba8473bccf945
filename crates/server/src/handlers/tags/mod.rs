pub(crate) mod delete;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod set;
