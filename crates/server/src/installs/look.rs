//! Reading a channel and deciding about it. Nothing is changed here.

use std::sync::Arc;

use milepost_channels::{ReadChannel, Source};
use milepost_model::Timestamp;
use milepost_model::channel::{All, Decision, Entry, Situation, Stay, decide};
use milepost_model::install::Install;

use super::problem::Problem;
use super::remembered::Which;
use super::source::{self, Known};
use crate::state::State;

/// A channel as it was read.
pub(super) struct Seen {
    pub source: Source,
    read: Arc<ReadChannel>,
    /// The highest serial that was seen, now or before.
    pub serial: u64,
}

/// Reads both files of the channel that an install follows.
///
/// Not only `latest`: a patch of an older line, and a version that was taken back, change nothing in it. What has not changed
/// since this server read it is not sent again.
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

    /// What the policy makes of the channel.
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

    /// The seed's rule is about the file `latest`, whatever the list says.
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
