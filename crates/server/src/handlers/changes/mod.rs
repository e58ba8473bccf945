pub(crate) mod create;
