//! Channels as they were last read, so that one that has not changed is not sent again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use milepost_channels::ReadChannel;
use milepost_model::channel::{ChannelName, PackageName};
use milepost_model::install::Install;

/// Bytes of all documents together. Beyond that everything is forgotten, which costs one whole read of each.
const MOST_BYTES: usize = 16 << 20;

/// What was checked when it was read: another key or package would have to check anew.
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
        // Without tags everything is sent again in any case.
        let is_of_use = read.latest.tag.is_some() || read.all.tag.is_some();
        if is_of_use && read.all.size <= MOST_BYTES {
            kept.bytes += read.all.size;
            kept.channels.insert(which, Arc::clone(read));
        }
    }
}
