//! Reads both documents of a channel, and fetches only what has changed since the last time.

use std::sync::Arc;

use super::{LatestAnswer, ReadAll, ReadLatest, Source};
use crate::error::ChannelError;
use crate::files::LATEST;

/// A channel as it was read.
#[derive(Debug, Clone)]
pub struct ReadChannel {
    pub latest: ReadLatest,
    pub all: ReadAll,
}

impl Source {
    /// Reads `latest` and the matching `all`. A document that the caller already has is not
    /// transferred again, nor is its signature, which was verified when it was read.
    pub async fn both(&self, known: Option<&Arc<ReadChannel>>) -> Result<Arc<ReadChannel>, ChannelError> {
        let known = known.filter(|known| self.may_rely_on(known));
        let latest = match self.latest(known.and_then(|known| known.latest.tag.as_deref())).await? {
            LatestAnswer::Read(read) => Some(*read),
            LatestAnswer::NotModified => None,
        };
        let all = self.all_unless(known.and_then(|known| known.all.tag.as_deref())).await?;
        let read = match (latest, all, known) {
            (Some(latest), Some(all), _) => Arc::new(ReadChannel { latest, all }),
            (None, None, Some(known)) => Arc::clone(known),
            // A document of a signed channel may be signed again without a change, and the new
            // serial must be recorded.
            (_, _, Some(_)) if self.options.key.is_some() => return Box::pin(self.both(None)).await,
            (latest, all, Some(known)) => {
                let latest = latest.unwrap_or_else(|| known.latest.clone());
                let all = all.unwrap_or_else(|| known.all.clone());
                Arc::new(ReadChannel { latest, all })
            }
            // The server answered "not modified" to a request without a tag.
            _ => return Err(ChannelError::Gone { place: self.place.file(LATEST) }),
        };
        // Known documents do not change, but clocks do.
        let now = self.options.clock.now();
        read.latest.latest.check_clock(now).map_err(ChannelError::ClockSkew)?;
        read.all.all.check_clock(now).map_err(ChannelError::ClockSkew)?;
        read.all.check_not_behind(&read.latest)?;
        Ok(read)
    }

    /// A reader that has already seen a higher serial must not be served the known documents.
    fn may_rely_on(&self, known: &ReadChannel) -> bool {
        let seen = |serial: Option<u64>| serial.is_some_and(|serial| serial >= self.options.minimum_serial);
        self.options.key.is_none() || seen(known.latest.serial) && seen(known.all.serial)
    }
}

impl ReadAll {
    /// Rejects an `all` that is older than the `latest` next to it, which means that it comes from
    /// a cache. The serial also detects one with the same latest version, as before an unpublish.
    pub(super) fn check_not_behind(&self, latest: &ReadLatest) -> Result<(), ChannelError> {
        // `None` orders first, and without a key both serials are `None`.
        if self.serial < latest.serial || self.all.is_behind(&latest.latest) {
            return Err(ChannelError::Behind);
        }
        Ok(())
    }
}
