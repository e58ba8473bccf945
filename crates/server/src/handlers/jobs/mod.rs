//! Jobs run what is there and change no code, so they are an operator's, like everything that decides what runs when.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod update;
