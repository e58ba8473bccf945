//! Tests of channels: tables, properties, and a year of releases.

mod artifacts;
mod decisions;
mod documents;
mod fleet;
mod oracle;
mod policy_properties;
mod publishing;
mod script;
mod semver_properties;
mod semver_tables;
mod window_text;
mod zones;

use jiff::Timestamp;

use crate::Digest;

use super::{All, Entry, Publishing, SemVer, publish};

fn version(text: &str) -> SemVer {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// An entry whose digest is that of its version text.
fn entry(text: &str) -> Entry {
    Entry::new(version(text), Digest::of(text.as_bytes()), at("2026-01-01T00:00:00Z"))
}

fn channel(name: &str) -> All {
    All::empty(name.parse().expect("a channel"), "acme/shop".parse().expect("a package"))
}

/// A channel with these versions, published in this order.
fn published(name: &str, versions: &[&str]) -> All {
    versions.iter().fold(channel(name), |all, text| {
        let entry = entry(text);
        let manifest = version(entry.version.core());
        publish(&all, Publishing { entry, manifest: &manifest, stable: None }).unwrap_or_else(|error| panic!("{error}"))
    })
}
