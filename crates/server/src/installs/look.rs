//! Reads a channel and decides what to do. Changes nothing.

use std::sync::Arc;

use milepost_channels::{ReadChannel, Source};
use milepost_model::Timestamp;
use milepost_model::channel::{All, Decision, Entry, Situation, Stay, decide};
use milepost_model::install::Install;

use super::problem::Problem;
use super::remembered::Which;
use super::source::{self, Known};
use crate::state::State;

/// A channel as read.
pub(super) struct Seen {
    pub source: Source,
    read: Arc<ReadChannel>,
    /// The highest serial seen so far.
    pub serial: u64,
}

/// Reads both files of the channel that an install follows.
///
/// `latest` alone is not enough: a patch of an older line and an unpublished version do not change
/// it. Files that are unchanged since the last read are not transferred again.
pub(super) async fn look(state: &State, install: &Install, serial: u64) -> Result<Seen, Problem> {
    let known = Known {
        package: Some(&install.package),
        channel: install.channel.as_ref(),
        key: install.settings.key.as_deref(),
        serial,
        confined: install.confined,
    };
    let source = source::open(state, &install.place, &known)?;
    let which = Which::of(install);
    let read = source.both(state.installs.remembered.get(&which).as_ref()).await?;
    state.installs.remembered.put(which, &read);
    Ok(Seen { source, serial: serial.max(read.latest.serial.unwrap_or(0)), read })
}

impl Seen {
    pub(super) fn all(&self) -> &All {
        &self.read.all.all
    }

    /// Applies the policy to the channel.
    pub(super) fn decide(&self, install: &Install, now: Timestamp) -> Result<Decision, Problem> {
        self.decide_as(install, &install.settings.policy, &install.settings.windows, now)
    }

    pub(super) fn decide_as(
        &self,
        install: &Install,
        policy: &milepost_model::channel::Policy,
        windows: &milepost_model::channel::Windows,
        now: Timestamp,
    ) -> Result<Decision, Problem> {
        self.check_latest(&install.entry)?;
        let (installed, brakes) = (&install.entry, &install.brakes);
        Ok(decide(&Situation { installed, all: self.all(), policy, windows, brakes, now })?)
    }

    /// The seed's rule applies to the file `latest`, whatever the list contains.
    fn check_latest(&self, installed: &Entry) -> Result<(), Problem> {
        let read = &self.read.latest.latest;
        match &read.latest {
            Some(latest) if installed.is_above(latest) => Err(Stay::Lesser {
                channel: read.name.clone(),
                latest: latest.version.clone(),
                installed: installed.version.clone(),
            }
            .into()),
            _ => Ok(()),
        }
    }
}
