//! Apps that travel: an app version becomes one stream of bytes ([`make`]), and such a stream becomes units and files of
//! an app here ([`stage`]). `docs/decisions/010-distribution.md` says why it is so.

mod chunks;
mod make;
mod stage;
mod walk;

pub(crate) use make::make;
pub(crate) use stage::stage;
