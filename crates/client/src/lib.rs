//! (under construction)

pub mod source;
