pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod whoami;
