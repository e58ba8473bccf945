//! Caches channels as last read, so that unchanged ones are not transferred again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use milepost_channels::ReadChannel;
use milepost_model::channel::{ChannelName, PackageName};
use milepost_model::install::Install;

/// Maximum total size of the cached lists. When exceeded, everything is dropped, which costs one
/// full read of each channel.
const MOST_BYTES: usize = 16 << 20;

/// What the channel was verified against. A different key or package requires a new verification.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Which {
    place: String,
    package: PackageName,
    channel: Option<ChannelName>,
    key: Option<String>,
}

impl Which {
    pub(super) fn of(install: &Install) -> Self {
        Self {
            place: install.place.clone(),
            package: install.package.clone(),
            channel: install.channel.clone(),
            key: install.settings.key.clone(),
        }
    }
}

#[derive(Default)]
pub(super) struct Remembered(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    channels: HashMap<Which, Arc<ReadChannel>>,
    bytes: usize,
}

impl Remembered {
    pub(super) fn get(&self, which: &Which) -> Option<Arc<ReadChannel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).channels.get(which).cloned()
    }

    pub(super) fn put(&self, which: Which, read: &Arc<ReadChannel>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = kept.channels.remove(&which) {
            kept.bytes -= before.all.size;
        }
        if kept.bytes + read.all.size > MOST_BYTES {
            *kept = Kept::default();
        }
        // Without ETags, the server always sends everything.
        let is_of_use = read.latest.tag.is_some() || read.all.tag.is_some();
        if is_of_use && read.all.size <= MOST_BYTES {
            kept.bytes += read.all.size;
            kept.channels.insert(which, Arc::clone(read));
        }
    }
}
