pub(crate) mod at;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod set_plan;
pub(crate) mod status;
