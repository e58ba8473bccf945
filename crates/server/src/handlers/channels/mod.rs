//! Channels hosted by this server: public static files for installs, and a place for callers with a
//! token to publish to. Outside of `/api/v1`, because any web server could serve the files.

pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
mod path;
pub(crate) mod put;
