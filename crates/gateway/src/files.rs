//! Static files: finds the file for a path, chooses its encoding and sends it.

mod accept;
mod caching;
mod clean;
mod conditions;
pub(crate) mod hashed;
pub(crate) mod kind;
mod lookup;
mod path;
mod press;
mod ranges;
mod send;
mod shelf;
mod store;

pub use caching::Expires;
pub(crate) use caching::cache_control;
pub(crate) use clean::{Clean, clean_path, page};
pub(crate) use lookup::{FileFound, fallback, find};
pub(crate) use path::{decode, decode_loosely};
pub(crate) use send::{Sending, Status};
pub(crate) use store::Store;
