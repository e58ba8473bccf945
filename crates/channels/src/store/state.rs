//! The current files of a channel, and whether they can be trusted.

use milepost_blobs::named::NamedObject;
use milepost_model::channel::index::{MAX_ALL_BYTES, MAX_LATEST_BYTES};
use milepost_model::channel::{All, ChannelName, PackageName};

use super::{Store, WriteError};
use crate::error::ChannelError;
use crate::files::{ALL, Files, LATEST, MAX_SIGNATURE_BYTES, next_signature, signature};
use crate::signature::{SecretKey, SignatureError, Statement, claimed};

/// More writes than a channel can have: one per microsecond for eight years.
const PLAUSIBLE: u64 = 1 << 48;

/// All files of a channel.
///
/// `all` is read last, so any other file that was written after some `all` is seen together with
/// that `all` or a later one. A writer that replaces a file only if it is unchanged since it was
/// read here therefore never replaces a newer one.
pub(super) struct State {
    pub latest: Option<NamedObject>,
    pub latest_signature: Option<NamedObject>,
    pub all_signature: Option<NamedObject>,
    pub next_signature: Option<NamedObject>,
    pub all: Option<ReadAll>,
}

pub(super) struct ReadAll {
    pub object: NamedObject,
    pub all: All,
}

impl Store {
    pub(super) async fn state(
        &self,
        files: &Files,
        package: &PackageName,
        channel: &ChannelName,
    ) -> Result<State, WriteError> {
        let place = &self.place;
        let latest = place.read(&files.latest(), MAX_LATEST_BYTES as u64).await?;
        let latest_signature = place.read(&files.file(&signature(LATEST)), MAX_SIGNATURE_BYTES).await?;
        let all_signature = place.read(&files.file(&signature(ALL)), MAX_SIGNATURE_BYTES).await?;
        let next_signature = place.read(&files.file(&next_signature(ALL)), MAX_SIGNATURE_BYTES).await?;
        let all = match place.read(&files.all(), MAX_ALL_BYTES as u64).await? {
            None => None,
            Some(object) => {
                let all = All::read(&object.bytes).map_err(ChannelError::Damaged)?;
                all.expect(package, channel).map_err(ChannelError::WrongChannel)?;
                Some(ReadAll { object, all })
            }
        };
        Ok(State { latest, latest_signature, all_signature, next_signature, all })
    }
}

impl State {
    /// One above the highest serial claimed by any of the signatures. An implausible claim is
    /// rejected, or ignored with `sign_existing`: serials cannot go down again, so continuing from
    /// it would use up the remaining ones.
    pub(super) fn next_serial(&self, key: &SecretKey, sign_existing: bool) -> Result<u64, WriteError> {
        let signatures = [&self.latest_signature, &self.all_signature, &self.next_signature];
        let claims = || signatures.into_iter().flatten().filter_map(|object| claimed(&object.bytes));
        let limit = self.highest_plausible(key);
        let highest = claims().map(|claim| claim.serial).max().unwrap_or(0);
        if highest > limit && !sign_existing {
            return Err(WriteError::Implausible { serial: highest });
        }
        let highest = claims().map(|claim| claim.serial).filter(|serial| *serial <= limit).max().unwrap_or(0);
        highest.checked_add(1).ok_or(WriteError::Implausible { serial: highest })
    }

    /// The serial that a signature claims, if it is plausible.
    pub(super) fn claim(&self, key: &SecretKey, signature: Option<&NamedObject>) -> Option<u64> {
        let claim = claimed(&signature?.bytes)?.serial;
        (claim <= self.highest_plausible(key)).then_some(claim)
    }

    /// A serial signed by this key is genuine, however high it is.
    fn highest_plausible(&self, key: &SecretKey) -> u64 {
        let latest = self.latest.as_ref().and_then(|object| self.latest_serial(key, &object.bytes));
        let all = self.statement(key).map(|statement| statement.serial);
        latest.max(all).unwrap_or(0).max(PLAUSIBLE)
    }

    /// Checks that this key may write here and has signed what is there. `ours` is an `all` that
    /// the caller wrote itself.
    pub(super) fn trust(
        &self,
        key: Option<&SecretKey>,
        sign_existing: bool,
        ours: Option<&[u8]>,
    ) -> Result<(), WriteError> {
        let Some(read) = &self.all else { return Ok(()) };
        let Some(key) = key else {
            return if self.all_signature.is_some() { Err(WriteError::KeyNeeded) } else { Ok(()) };
        };
        let other = |object: &NamedObject| match key.public().verify(b"", &object.bytes) {
            Err(SignatureError::OtherKey(found)) => Some(found),
            _ => None,
        };
        // An author who replaces a key has reviewed what the old one signed, as if there were no
        // signature.
        if let Some(found) = self.all_signature.as_ref().and_then(other)
            && !sign_existing
        {
            return Err(WriteError::OtherKey { found, given: key.public().id() });
        }
        if sign_existing || ours == Some(&*read.object.bytes) || self.statement(key).is_some() {
            return Ok(());
        }
        let nothing_signed = self.all_signature.is_none() && self.next_signature.is_none();
        let untouched = read.all.versions().is_empty() && read.all.unpublished().is_empty();
        match (nothing_signed, untouched) {
            (true, true) => Ok(()),
            (true, false) => Err(WriteError::NotSigned),
            (false, _) => Err(WriteError::Altered),
        }
    }

    /// The statement of a valid signature of `all`: its own, or the one prepared before it was
    /// written.
    fn statement(&self, key: &SecretKey) -> Option<Statement> {
        let read = self.all.as_ref()?;
        let signatures = [&self.all_signature, &self.next_signature];
        signatures.into_iter().find_map(|object| fitting(key, &read.object.bytes, object.as_ref(), ALL, &read.all))
    }

    /// The signature prepared before `all` was written, if it is valid and newer than all that were
    /// published.
    pub(super) fn prepared(&self, key: &SecretKey) -> Option<bytes::Bytes> {
        let (read, next) = (self.all.as_ref()?, self.next_signature.as_ref()?);
        let statement = fitting(key, &read.object.bytes, Some(next), ALL, &read.all)?;
        let given_out = [&self.latest_signature, &self.all_signature];
        let newest = given_out.into_iter().filter_map(|object| self.claim(key, object.as_ref())).max();
        newest.is_none_or(|newest| newest < statement.serial).then(|| next.bytes.clone())
    }

    /// The serial of `all`'s own signature, if it is valid.
    pub(super) fn all_serial(&self, key: &SecretKey) -> Option<u64> {
        let read = self.all.as_ref()?;
        let fits = fitting(key, &read.object.bytes, self.all_signature.as_ref(), ALL, &read.all);
        fits.map(|statement| statement.serial)
    }

    /// The serial of the signature of `latest`, if it is valid for these bytes.
    pub(super) fn latest_serial(&self, key: &SecretKey, bytes: &[u8]) -> Option<u64> {
        let read = self.all.as_ref()?;
        let fits = fitting(key, bytes, self.latest_signature.as_ref(), LATEST, &read.all);
        fits.map(|statement| statement.serial)
    }
}

fn fitting(key: &SecretKey, bytes: &[u8], signed: Option<&NamedObject>, file: &str, all: &All) -> Option<Statement> {
    let statement = key.public().verify(bytes, &signed?.bytes).ok()?;
    let same = statement.file == file && statement.package == *all.package() && statement.channel == *all.name();
    same.then_some(statement)
}
