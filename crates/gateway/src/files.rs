//! Static files: finds the file for a path, chooses its encoding and sends it.

mod cache;
mod cache_control;
mod clean;
mod compress;
mod conditions;
mod disk_cache;
mod encoding;
pub(crate) mod hashed;
pub(crate) mod kind;
mod lookup;
mod path;
mod ranges;
mod send;

pub(crate) use cache::FileCache;
pub use cache_control::Expires;
pub(crate) use cache_control::cache_control;
pub(crate) use clean::{Clean, clean_path, page};
pub(crate) use lookup::{FileFound, fallback, find};
pub(crate) use path::{decode, decode_loosely};
pub(crate) use send::{FileResponse, Status};
