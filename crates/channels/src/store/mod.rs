//! Writes a channel: the author's side.
//!
//! `all` is the source of truth, and is replaced only if it is unchanged since it was read. The
//! other files are derived from it, so the next writer completes what a previous one left
//! unfinished: see `settle.rs`.

mod error;
mod place;
mod publish;
mod server;
mod settle;
mod state;
mod unpublish;

use std::sync::Arc;

use milepost_model::channel::{All, ChannelName, PackageName};

use crate::files::Files;
use crate::http::Http;
use crate::registry;
use crate::signature::SecretKey;

pub use error::WriteError;
use place::Place;
pub use publish::{Publish, Published};
pub use unpublish::{Unpublish, Unpublishing};

/// A place that holds channels, each as `{package}/{channel}/…`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    place: Place,
    options: Arc<StoreOptions>,
}

/// The author's credentials and choices.
#[derive(Debug, Default)]
pub struct StoreOptions {
    /// For a Milepost server.
    pub token: Option<String>,
    /// Signs what is written. Without a key, only unsigned channels can be written.
    pub key: Option<SecretKey>,
    /// Signs a channel that has versions but no signature, or a signature of another key. The
    /// author confirms having reviewed it.
    pub sign_existing: bool,
    /// The `AWS_…` variables for `s3://`. Defaults to those of the process.
    pub aws: Option<Vec<(String, String)>>,
    /// Credentials for registries.
    pub registries: Vec<registry::Credentials>,
    pub http: Option<Http>,
}

impl Store {
    /// Opens a directory (a path or `file://…`), `s3://bucket/prefix`, or the channels of a
    /// Milepost server, `https://…/channels`. Makes no requests.
    pub fn open(url: &str, options: StoreOptions) -> Result<Self, WriteError> {
        Ok(Self { place: Place::open(url, &options)?, options: Arc::new(options) })
    }

    /// The key that readers verify the signatures with.
    pub fn public_key(&self) -> Option<&crate::signature::PublicKey> {
        self.options.key.as_ref().map(SecretKey::public)
    }

    /// The address of a channel for readers.
    pub fn channel_url(&self, package: &PackageName, channel: &ChannelName) -> String {
        format!("{}/{}", self.place.shown(), Files::of(package, channel).folder())
    }

    /// Lists the channels of this store, by package and name.
    pub async fn list(&self) -> Result<Vec<(PackageName, ChannelName)>, WriteError> {
        let mut found: Vec<_> = self.place.list().await?.iter().filter_map(|name| channel_of(name)).collect();
        found.sort();
        Ok(found)
    }

    /// Reads the list of a channel; `None` if nothing was published yet.
    pub async fn read(&self, package: &PackageName, channel: &ChannelName) -> Result<Option<All>, WriteError> {
        let state = self.state(&Files::of(package, channel), package, channel).await?;
        Ok(state.all.map(|read| read.all))
    }
}

/// The channel that this file is the list of.
fn channel_of(name: &str) -> Option<(PackageName, ChannelName)> {
    let (package, channel) = name.strip_suffix("/all")?.rsplit_once('/')?;
    Some((package.parse().ok()?, channel.parse().ok()?))
}
