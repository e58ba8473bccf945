//! Decides what an install does about its channel: which versions to install now, later or on
//! request, and why.

use jiff::{SignedDuration, Zoned};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

use super::index::{All, Entry};
use super::name::ChannelName;
use super::order::cmp_channel;
use super::policy::{Policy, Step, When};
use super::semver::SemVer;
use super::windows::Windows;

/// How far ahead to search for a window: more than a year, so that a yearly freeze ends within it.
pub const HORIZON_DAYS: i64 = 400;

/// The inputs of a decision.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The installed entry, as the channel listed it at that time.
    pub installed: &'a Entry,
    pub all: &'a All,
    pub policy: &'a Policy,
    pub windows: &'a Windows,
    pub brakes: &'a Brakes,
    pub now: Timestamp,
}

/// What an operator or a rollback put in the way of upgrades.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Brakes {
    pub hold: Option<Hold>,
    /// Versions that are never installed automatically until they are lifted.
    pub skipped: Vec<SemVer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    pub until: HoldUntil,
    /// For display: the actor and the reason.
    #[serde(default)]
    pub reason: String,
    /// Versions published before this time do not end the hold: they existed at the time of the
    /// rollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum HoldUntil {
    /// Until an operator lifts it.
    Lifted,
    /// Until an operator lifts it, or the channel has a version above this one that is not skipped.
    Above(SemVer),
}

/// The outlook of each step, lowest version first. Versions that will never be installed are left
/// out: those below the version to install now, and those that a higher version overtakes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub installed: SemVer,
    /// The installed version is no longer in its channel.
    pub unpublished: bool,
    pub outlook: Vec<Outlook>,
}

/// What happens to one version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outlook {
    pub entry: Entry,
    pub step: Step,
    pub fate: Fate,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// Installed now.
    Now,
    /// Installed at this time, if nothing changes.
    At {
        #[schema(value_type = String)]
        at: Zoned,
    },
    /// Would be installed, but no window opens within [`HORIZON_DAYS`].
    NoWindow,
    /// Waits for an operator's decision.
    Waits,
    /// Never installed, by policy.
    Forbidden,
    /// Blocked by a hold.
    Held,
    /// Marked as bad by a rollback.
    Skipped,
    /// The channel does not give the full digest of its artifact.
    Unfetchable,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    Policy(When),
    /// A security fix is likely: the installed version was unpublished.
    Unpublished,
    /// As `Unpublished`, but patches are manual.
    UnpublishedAndManual,
    /// Blocked by a deny window until then.
    Denied,
    Hold(Hold),
    RolledBack,
    ShortId,
}

/// Why the channel is not followed at all. Nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stay {
    #[error(
        "the release channel `{channel}` is of a lesser version: its latest is `{latest}` and `{installed}` is \
        installed, so nothing was changed; to go down, install `{latest}` by hand"
    )]
    Lesser { channel: ChannelName, latest: SemVer, installed: SemVer },
    #[error(
        "the release channel `{channel}` has `{version}` as {listed}, and it was installed as {installed}; a published \
        version never changes, so nothing was changed; ask the author which one is right"
    )]
    Replaced { channel: ChannelName, version: SemVer, installed: String, listed: String },
}

impl Brakes {
    /// Records a rollback: the bad version is skipped, and upgrades are held until an operator
    /// lifts the hold or, unless it `stays`, until a newer version appears. Higher versions that
    /// already existed do not count.
    pub fn roll_back(&mut self, bad: SemVer, stays: bool, reason: impl Into<String>, at: Timestamp) {
        let until = if stays { HoldUntil::Lifted } else { HoldUntil::Above(bad.clone()) };
        self.hold = Some(Hold { until, reason: reason.into(), since: Some(at) });
        if !self.skipped.contains(&bad) {
            self.skipped.push(bad);
        }
    }

    /// The hold, unless it has ended.
    pub fn active_hold(&self, all: &All) -> Option<&Hold> {
        let hold = self.hold.as_ref()?;
        let HoldUntil::Above(bad) = &hold.until else { return Some(hold) };
        let above = |entry: &Entry| {
            let order = cmp_channel((&entry.version, entry.create_time), (bad, entry.create_time));
            // Times in channels have a resolution of one second.
            let news = hold.since.is_none_or(|since| entry.create_time.as_second() >= since.as_second());
            order.is_gt() && news && !self.skipped.contains(&entry.version)
        };
        (!all.versions().iter().any(above)).then_some(hold)
    }
}

impl Decision {
    /// What to install now.
    pub fn now(&self) -> Option<&Outlook> {
        self.outlook.iter().find(|outlook| outlook.fate == Fate::Now)
    }

    /// When to decide again, unless the channel changes before.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let at = |outlook: &Outlook| match &outlook.fate {
            Fate::At { at } => Some(at.timestamp()),
            _ => None,
        };
        self.outlook.iter().filter_map(at).min()
    }
}

/// Never downgrades, never takes a step that the policy forbids, and picks the newest version
/// allowed now.
pub fn decide(situation: &Situation<'_>) -> Result<Decision, Stay> {
    let Situation { installed, all, brakes, .. } = *situation;
    check_channel(installed, all)?;
    let listed = all.get(&installed.version);
    let unpublished = listed.is_none() && all.name().admits(&installed.version);
    let hold = brakes.active_hold(all);

    let mut outlook: Vec<Outlook> = Vec::new();
    for step in Step::ALL {
        // Newest first, so the first installable version is the result of this step. Versions above
        // it that cannot be installed are reported, once per fate.
        let of_step =
            |entry: &&Entry| entry.is_above(installed) && Step::between(&installed.version, &entry.version) == step;
        let mut reported = Vec::new();
        for entry in all.versions().iter().filter(of_step) {
            let out_of_reach = out_of_reach(entry, brakes);
            let ends = out_of_reach.is_none();
            let security = unpublished && step == Step::Patch;
            let (fate, why) = out_of_reach.unwrap_or_else(|| fate(situation, step, security, hold));
            if !reported.contains(&fate) {
                reported.push(fate.clone());
                outlook.push(Outlook { entry: entry.clone(), step, fate, why });
            }
            if ends {
                break;
            }
        }
    }
    outlook.sort_by(|a, b| a.entry.cmp_channel(&b.entry));
    leave_out_overtaken(&mut outlook);
    Ok(Decision { installed: installed.version.clone(), unpublished, outlook })
}

/// Why a version cannot be installed automatically, whatever the policy says.
fn out_of_reach(entry: &Entry, brakes: &Brakes) -> Option<(Fate, Why)> {
    if brakes.skipped.contains(&entry.version) {
        Some((Fate::Skipped, Why::RolledBack))
    } else if entry.id.digest().is_none() {
        Some((Fate::Unfetchable, Why::ShortId))
    } else {
        None
    }
}

fn check_channel(installed: &Entry, all: &All) -> Result<(), Stay> {
    let channel = all.name().clone();
    if let Some(listed) = all.get(&installed.version).filter(|listed| listed.id.contradicts(&installed.id)) {
        let (version, installed, listed) = (installed.version.clone(), installed.id.to_string(), listed.id.to_string());
        return Err(Stay::Replaced { channel, version, installed, listed });
    }
    match all.latest() {
        Some(latest) if installed.is_above(latest) => {
            let (latest, installed) = (latest.version.clone(), installed.version.clone());
            Err(Stay::Lesser { channel, latest, installed })
        }
        _ => Ok(()),
    }
}

fn fate(situation: &Situation<'_>, step: Step, security: bool, hold: Option<&Hold>) -> (Fate, Why) {
    let Situation { policy, windows, now, .. } = *situation;
    let when = policy.when(step);
    let until = now.saturating_add(SignedDuration::from_hours(HORIZON_DAYS * 24)).unwrap_or(Timestamp::MAX);
    let later = |at: Option<Zoned>| at.map_or(Fate::NoWindow, |at| Fate::At { at });
    match (when, hold) {
        (When::Never, _) => (Fate::Forbidden, Why::Policy(when)),
        (_, Some(hold)) => (Fate::Held, Why::Hold(hold.clone())),
        (When::Manual, None) if security => (Fate::Waits, Why::UnpublishedAndManual),
        (When::Manual, None) => (Fate::Waits, Why::Policy(when)),
        (When::Window, None) if !security => {
            let fate = if windows.is_open(now) { Fate::Now } else { later(windows.next_open(now, until)) };
            (fate, Why::Policy(when))
        }
        (When::Immediate | When::Window, None) if windows.is_denied(now) => {
            (later(windows.next_undenied(now, until)), Why::Denied)
        }
        (_, None) => (Fate::Now, if security { Why::Unpublished } else { Why::Policy(when) }),
    }
}

/// Drops versions below the one to install now, and versions due no earlier than a higher one.
fn leave_out_overtaken(outlook: &mut Vec<Outlook>) {
    if let Some(now) = outlook.iter().rposition(|outlook| outlook.fate == Fate::Now) {
        outlook.drain(..now);
    }
    let mut earliest_above: Option<Timestamp> = None;
    let mut kept: Vec<Outlook> = Vec::with_capacity(outlook.len());
    for one in std::mem::take(outlook).into_iter().rev() {
        if let Fate::At { at } = &one.fate {
            if earliest_above.is_some_and(|above| above <= at.timestamp()) {
                continue;
            }
            earliest_above = Some(at.timestamp());
        }
        kept.push(one);
    }
    kept.reverse();
    *outlook = kept;
}
