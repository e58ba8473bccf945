//! Publishing as authors do: a manifest with a version, to channels on the server, in a folder and
//! in a registry.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "publish/author.rs"]
mod author;
#[path = "publish/backup.rs"]
mod backup;
#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "publish/content.rs"]
mod content;
#[path = "publish/crashes.rs"]
mod crashes;
#[path = "publish/keys.rs"]
mod keys;
#[path = "publish/publishing.rs"]
mod publishing;
#[path = "publish/served.rs"]
mod served;
#[path = "publish/unpublishing.rs"]
mod unpublishing;
