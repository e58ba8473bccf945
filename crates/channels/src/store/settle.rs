//! Updates the files derived from `all`: its signature, `latest`, and the signature of `latest`.
//!
//! Each is replaced only if it is unchanged since before `all` was read (see `state.rs`), and every
//! writer of `all` comes here afterwards. So in whatever order writers and crashes interleave, the
//! last writer here leaves the four files consistent, and an older file never replaces a newer one.

use std::time::Duration;

use bytes::Bytes;
use milepost_blobs::named::{Condition, NamedObject, Replaced};
use milepost_model::channel::{ChannelName, PackageName};

use super::state::State;
use super::{Store, WriteError};
use crate::files::{ALL, Files, LATEST, signature};
use crate::signature::{SecretKey, Statement};

/// How often a writer retries while others write at the same time.
pub(super) const TRIES: u32 = 200;
/// During how many of them an `all` may have no matching signature: its writer is about to add one.
const UNSIGNED_TRIES: u32 = 40;

/// The result of settling.
pub(super) struct Settled {
    /// Whether a file had to be written.
    pub repaired: bool,
    pub serial: Option<u64>,
}

impl Store {
    pub(super) async fn settle(
        &self,
        files: &Files,
        package: &PackageName,
        channel: &ChannelName,
        ours: Option<&[u8]>,
    ) -> Result<Settled, WriteError> {
        let mut repaired = false;
        let mut distrusted = 0;
        for attempt in 0..TRIES {
            let state = self.state(files, package, channel).await?;
            match state.trust(self.options.key.as_ref(), self.options.sign_existing, ours) {
                Err(WriteError::Altered | WriteError::NotSigned) if distrusted < UNSIGNED_TRIES => {
                    distrusted += 1;
                    pause(attempt).await;
                    continue;
                }
                other => other?,
            }
            match self.step(files, &state).await? {
                Step::Settled { serial } => return Ok(Settled { repaired, serial }),
                Step::Wrote => repaired = true,
                Step::Lost => pause(attempt).await,
            }
        }
        Err(WriteError::Contended)
    }

    /// Writes the first file that is missing or outdated.
    async fn step(&self, files: &Files, state: &State) -> Result<Step, WriteError> {
        let Some(read) = &state.all else { return Ok(Step::Settled { serial: None }) };
        let latest: Bytes = read.all.to_latest().write().into();
        let latest_is_right = state.latest.as_ref().is_some_and(|found| found.bytes == latest);
        let Some(key) = &self.options.key else {
            if latest_is_right {
                return Ok(Step::Settled { serial: None });
            }
            return self.put(&files.latest(), latest, state.latest.as_ref()).await;
        };
        let latest_serial = state.latest_serial(key, &latest);
        let all_serial = state.all_serial(key);
        // The signature of `latest` must be newer than the one it replaces, and not newer than that
        // of `all`. So both are renewed if either has to be.
        let fresh = latest_is_right && latest_serial.is_some();
        let claimed = state.claim(key, state.latest_signature.as_ref());
        let used_up = claimed.is_some_and(|claimed| all_serial.is_some_and(|serial| claimed >= serial));
        let Some(serial) = all_serial.filter(|_| fresh || !used_up) else {
            let made_before = state.prepared(key).filter(|_| all_serial.is_none());
            let next = match made_before {
                Some(prepared) => prepared,
                None => {
                    let serial = state.next_serial(key, self.options.sign_existing)?;
                    sign(key, &read.object.bytes, &read.all, ALL, serial)?
                }
            };
            return self.put(&files.file(&signature(ALL)), next, state.all_signature.as_ref()).await;
        };
        if !latest_is_right {
            return self.put(&files.latest(), latest, state.latest.as_ref()).await;
        }
        if latest_serial.is_none() {
            let next = sign(key, &latest, &read.all, LATEST, serial)?;
            return self.put(&files.file(&signature(LATEST)), next, state.latest_signature.as_ref()).await;
        }
        Ok(Step::Settled { serial: Some(serial) })
    }

    async fn put(&self, name: &str, bytes: Bytes, found: Option<&NamedObject>) -> Result<Step, WriteError> {
        Ok(match self.place.replace(name, bytes, condition(found)).await? {
            Replaced::Written { .. } => Step::Wrote,
            Replaced::Lost => Step::Lost,
        })
    }
}

enum Step {
    Settled { serial: Option<u64> },
    Wrote,
    Lost,
}

pub(super) fn condition(found: Option<&NamedObject>) -> Condition<'_> {
    found.map_or(Condition::Absent, |found| Condition::Tag(&found.tag))
}

pub(super) fn sign(
    key: &SecretKey,
    bytes: &[u8],
    all: &milepost_model::channel::All,
    file: &str,
    serial: u64,
) -> Result<Bytes, WriteError> {
    let (package, channel) = (all.package().clone(), all.name().clone());
    let statement = Statement { package, channel, file: file.to_owned(), serial };
    Ok(key.sign(bytes, &statement)?.into())
}

/// Backs off, with jitter against lockstep retries.
pub(super) async fn pause(attempt: u32) {
    let chance = u64::from(getrandom::u32().unwrap_or(attempt) % 20);
    let wait = (5 + chance + u64::from(attempt) * 5).min(150);
    tokio::time::sleep(Duration::from_millis(wait)).await;
}
