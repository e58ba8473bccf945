//! Installing as users do: from a channel, a bundle or this server, then upgrades, rollbacks and
//! crashes of the server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "the tests of publishing use the rest")]
#[path = "publish/author.rs"]
mod author;
#[path = "install/bundles.rs"]
mod bundles;
#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "install/crashes.rs"]
mod crashes;
#[path = "install/flows.rs"]
mod flows;
#[expect(dead_code, reason = "the tests of the server use the rest")]
#[path = "../../server/tests/installs/author.rs"]
mod maker;
