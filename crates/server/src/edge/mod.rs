//! The edge of the API: its listener, the limits of connections and bodies, and what every request
//! passes through before a handler sees it.

pub(crate) mod body;
pub(crate) mod connections;
pub(crate) mod cursor;
pub(crate) mod docs_page;
pub(crate) mod door;
pub(crate) mod extract;
pub(crate) mod idempotency;
pub(crate) mod middleware;
pub(crate) mod open_files;
pub(crate) mod rule;
pub(crate) mod wire;
