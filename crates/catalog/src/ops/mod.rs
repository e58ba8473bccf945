//! Everything else that writes: apps, aliases, releases, tags, live, descriptions, groups, tokens.

pub(crate) mod alias;
pub(crate) mod app;
pub(crate) mod group;
pub(crate) mod live;
pub(crate) mod release;
pub(crate) mod tag;
pub(crate) mod token;
pub(crate) mod version;
