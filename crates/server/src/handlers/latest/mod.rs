pub(crate) mod history;
