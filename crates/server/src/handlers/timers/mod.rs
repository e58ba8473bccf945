//! Timers are units; this is when those of the live release fire.

pub(crate) mod list;
