//! Portable apps: [`mod@make`] turns an app version into one byte stream, [`mod@stage`] turns such a stream
//! into units and files of an app. See `docs/decisions/010-distribution.md` for the reasons.

mod chunks;
mod make;
mod stage;
mod walk;

pub(crate) use make::make;
pub(crate) use stage::stage;
