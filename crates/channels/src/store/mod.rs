//! Writing a channel: the author's side.
//!
//! `all` is the truth, and it is replaced only if it is what was read. The other files follow from it, so whoever writes
//! next finishes what somebody left: see `settle.rs`.

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

/// What the author brings.
#[derive(Debug, Default)]
pub struct StoreOptions {
    /// For a Milepost server.
    pub token: Option<String>,
    /// Signs what is written. Without one, only channels that are not signed can be written.
    pub key: Option<SecretKey>,
    /// Signs a channel that has versions but no signature yet, or one of another key: whoever says so has looked at it.
    pub sign_existing: bool,
    /// The `AWS_…` variables for `s3://`; those of the process when left out.
    pub aws: Option<Vec<(String, String)>>,
    /// Names and passwords for registries.
    pub registries: Vec<registry::Credentials>,
    pub http: Option<Http>,
}

impl Store {
    /// Opens a folder (a path or `file://…`), `s3://bucket/prefix`, or the channels of a Milepost server,
    /// `https://…/channels`. Nobody is contacted.
    pub fn open(url: &str, options: StoreOptions) -> Result<Self, WriteError> {
        Ok(Self { place: Place::open(url, &options)?, options: Arc::new(options) })
    }

    /// What readers check the signatures with.
    pub fn public_key(&self) -> Option<&crate::signature::PublicKey> {
        self.options.key.as_ref().map(SecretKey::public)
    }

    /// The address of a channel, for whoever reads it from here.
    pub fn channel_url(&self, package: &PackageName, channel: &ChannelName) -> String {
        format!("{}/{}", self.place.shown(), Files::of(package, channel).folder())
    }

    /// The channels that are here, by package and name.
    pub async fn list(&self) -> Result<Vec<(PackageName, ChannelName)>, WriteError> {
        let mut found: Vec<_> = self.place.list().await?.iter().filter_map(|name| channel_of(name)).collect();
        found.sort();
        Ok(found)
    }

    /// The list of a channel as it is now; nothing when nothing was published yet.
    pub async fn read(&self, package: &PackageName, channel: &ChannelName) -> Result<Option<All>, WriteError> {
        let state = self.state(&Files::of(package, channel), package, channel).await?;
        Ok(state.all.map(|read| read.all))
    }
}

/// The channel that has this file as its list.
fn channel_of(name: &str) -> Option<(PackageName, ChannelName)> {
    let (package, channel) = name.strip_suffix("/all")?.rsplit_once('/')?;
    Some((package.parse().ok()?, channel.parse().ok()?))
}
