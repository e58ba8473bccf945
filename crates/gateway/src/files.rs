//! Static files: which one a path means, in which copy, and how it is sent.

mod accept;
mod conditions;
pub(crate) mod kind;
mod lookup;
mod path;
mod press;
mod ranges;
mod send;
mod shelf;
mod store;

pub(crate) use lookup::{FileFound, fallback, find};
pub(crate) use path::{decode, decode_loosely};
pub(crate) use send::{Sending, Status};
pub(crate) use store::Store;
