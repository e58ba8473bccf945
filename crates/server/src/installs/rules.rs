//! What a user may install manually, and when.

use milepost_model::channel::{
    ChannelName, Entry, Hold, HoldUntil, PackageName, Policy, Step as StepKind, When, cmp_channel,
};
use milepost_model::install::{Install, InstallMode, Upgrade};
use milepost_model::refusal::Field;
use milepost_model::{Code, Next, Refusal, Timestamp};

use super::create::check_admitted;

/// How far ahead to search for the end of a deny or the next window.
const HORIZON_MS: i64 = milepost_model::channel::decide::HORIZON_DAYS * 24 * 3_600_000;

/// Treats manual upgrades as immediate, because a user has decided.
pub(super) fn by_hand(policy: &Policy) -> Policy {
    let by_hand = |when: When| if when == When::Manual { When::Immediate } else { when };
    Policy { patch: by_hand(policy.patch), minor: by_hand(policy.minor), major: by_hand(policy.major) }
}

pub(super) fn at_once(policy: &Policy) -> Policy {
    let at_once = |when: When| if when == When::Window { When::Immediate } else { when };
    Policy { patch: at_once(policy.patch), minor: at_once(policy.minor), major: at_once(policy.major) }
}

/// A version requested by a user.
pub(super) struct Named<'a> {
    pub entry: &'a Entry,
    /// The hold that is still active, if any.
    pub hold: Option<&'a Hold>,
    /// Whether the installed version was unpublished from its channel.
    pub taken_back: bool,
    /// Overrides windows and denies, and is recorded.
    pub force: bool,
}

impl Named<'_> {
    /// Checks whether the version may be installed now. A downgrade overrides all holds.
    pub(super) fn check(&self, install: &Install, now: Timestamp) -> Result<(), Refusal> {
        let Self { entry, hold, taken_back, force } = *self;
        let (app, version, settings) = (&install.app, &entry.version, &install.settings);
        let refuse = |message: String| Refusal::new(Code::UpgradeRefused, message);
        let pinned = install.mode == InstallMode::Pinned;
        let down = install.entry.is_above(entry);
        let when = settings.policy.when(StepKind::between(&install.entry.version, version));
        if !down && !pinned {
            if install.brakes.skipped.contains(version) {
                let lift = Next::LiftHold { app: app.to_string(), version: Some(version.to_string()) };
                return Err(refuse(format!("`{version}` was rolled back, so it is skipped")).next(lift));
            }
            if let Some(hold) = hold {
                let lift = Next::LiftHold { app: app.to_string(), version: None };
                return Err(refuse(format!("for app `{app}`, {hold}")).next(lift));
            }
            if when == When::Never {
                let step = StepKind::between(&install.entry.version, version);
                let by_hand = Next::UpgradeByHand { app: app.to_string(), update: step.to_string() };
                let message = format!("the policy of app `{app}` never takes {step} updates, and `{version}` is one");
                return Err(refuse(message).next(by_hand));
            }
        }
        if force || pinned {
            return Ok(());
        }
        let until = milepost_model::clock::from_millis(now.as_millisecond().saturating_add(HORIZON_MS));
        // The installed version was unpublished, so its replacement does not wait for a window.
        let urgent = taken_back && StepKind::between(&install.entry.version, version) == StepKind::Patch;
        let waits = when == When::Window && !down && !urgent && !settings.windows.is_open(now);
        let next = if waits {
            settings.windows.next_open(now, until)
        } else if settings.windows.is_denied(now) {
            settings.windows.next_undenied(now, until)
        } else {
            return Ok(());
        };
        let why = if waits { "waits for a window" } else { "is denied now" };
        let next = next.map_or_else(
            || "none opens within a year".to_owned(),
            |at| format!("the next one opens on {}", at.strftime("%A %Y-%m-%d %H:%M %Q")),
        );
        Err(refuse(format!("`{version}` {why}; {next}")).next(Next::Wait).give(Field::Now))
    }
}

/// What a bundle claims about its version. The client supplied it, so nothing in it is verified.
pub(super) struct Offer {
    pub package: PackageName,
    pub channel: ChannelName,
    pub entry: Entry,
    pub serial: u64,
}

/// Each write of a channel increases its serial by one or two. A serial much higher than the last
/// one seen would only prevent the install from ever reading its channel again.
const MOST_WRITES: u64 = 1_000_000;

pub(super) fn check_serial(serial: u64, seen: u64) -> Result<(), Refusal> {
    if serial < seen {
        let message = format!("the bundle has serial {serial}, and {seen} was already seen: it is an old copy");
        return Err(Refusal::new(Code::ChannelRefused, message).correct("ask for a newer bundle"));
    }
    if serial - seen > MOST_WRITES {
        let message = format!("the bundle has serial {serial}, which no channel reaches after {seen}");
        return Err(Refusal::new(Code::ChannelRefused, message).correct("ask the author of the bundle"));
    }
    Ok(())
}

impl Offer {
    pub(super) fn check(&self, install: &Install, seen: u64, asked: &Upgrade, now: Timestamp) -> Result<(), Refusal> {
        let (app, version) = (&install.app, &self.entry.version);
        check_admitted(&self.channel, &self.entry)?;
        if self.package != install.package {
            let message = format!("the bundle has `{}`, and app `{app}` is `{}`", self.package, install.package);
            return Err(Refusal::new(Code::UpgradeRefused, message).correct("choose a bundle of the same package"));
        }
        if let Some(channel) = install.channel.as_ref().filter(|channel| **channel != self.channel) {
            let message = format!("the bundle is of channel `{}`, and app `{app}` is of `{channel}`", self.channel);
            return Err(Refusal::new(Code::UpgradeRefused, message).correct("choose a bundle of the same channel"));
        }
        check_serial(self.serial, seen)?;
        if let Some(to) = asked.to.as_ref().filter(|to| *to != version) {
            let message = format!("the request names `{to}`, and the bundle was sent with `{version}`");
            return Err(Refusal::new(Code::UpgradeRefused, message).correct("name a version that the bundle has"));
        }
        if *version == install.entry.version {
            return Ok(());
        }
        if install.entry.is_above(&self.entry) && asked.to.is_none() {
            let message = format!(
                "the bundle has the lower version `{version}`, and `{}` is installed; nothing was changed",
                install.entry.version
            );
            return Err(Refusal::new(Code::ChannelRefused, message).next(Next::UpgradeTo));
        }
        // Only this one version of the channel is known.
        let hold = install.brakes.hold.as_ref().filter(|hold| match &hold.until {
            HoldUntil::Lifted => true,
            HoldUntil::Above(bad) => {
                let at = self.entry.create_time;
                !cmp_channel((version, at), (bad, at)).is_gt()
            }
        });
        Named { entry: &self.entry, hold, taken_back: false, force: asked.now }.check(install, now)
    }
}
