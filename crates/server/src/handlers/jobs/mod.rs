//! Jobs. They run existing versions and change no code, so operators manage them, like everything
//! that decides what runs when.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod update;
