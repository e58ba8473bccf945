//! Both documents of a channel together, and no more of them than has changed since they were read.

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
    /// `latest` and the `all` that belongs to it. A document that is still the one that the caller knows is not sent again, and
    /// neither is its signature: it was checked when it was read.
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
            // Of a signed channel a document may be signed anew without a change in it, and the new serial is to be remembered.
            (_, _, Some(_)) if self.options.key.is_some() => return Box::pin(self.both(None)).await,
            (latest, all, Some(known)) => {
                let latest = latest.unwrap_or_else(|| known.latest.clone());
                let all = all.unwrap_or_else(|| known.all.clone());
                Arc::new(ReadChannel { latest, all })
            }
            // Nobody said that it is known.
            _ => return Err(ChannelError::Gone { place: self.place.file(LATEST) }),
        };
        // A document does not change, but clocks do.
        let now = self.options.clock.now();
        read.latest.latest.check_clock(now).map_err(ChannelError::ClockSkew)?;
        read.all.all.check_clock(now).map_err(ChannelError::ClockSkew)?;
        read.all.check_not_behind(&read.latest)?;
        Ok(read)
    }

    /// Whoever has seen more than what is known must not be shown it again.
    fn may_rely_on(&self, known: &ReadChannel) -> bool {
        let seen = |serial: Option<u64>| serial.is_some_and(|serial| serial >= self.options.minimum_serial);
        self.options.key.is_none() || seen(known.latest.serial) && seen(known.all.serial)
    }
}

impl ReadAll {
    /// An `all` that is older than the `latest` next to it comes from a cache. The serial also tells when the older one has the
    /// same latest version, as before an unpublish.
    pub(super) fn check_not_behind(&self, latest: &ReadLatest) -> Result<(), ChannelError> {
        // Nothing is below everything: without a key neither has a serial.
        if self.serial < latest.serial || self.all.is_behind(&latest.latest) {
            return Err(ChannelError::Behind);
        }
        Ok(())
    }
}
