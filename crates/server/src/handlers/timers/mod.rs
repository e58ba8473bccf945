//! When the timers of the live release fire. The timers themselves are units.

pub(crate) mod list;
