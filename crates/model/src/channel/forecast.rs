//! The decision as text:
//! `1.1.3 now, 1.2.3 on Sunday 2026-11-22 02:00 Europe/Berlin, 2.0.0 waits for you`.

use std::fmt;

use jiff::Zoned;

use super::decide::{Decision, Fate, Hold, HoldUntil, Outlook, Situation, Stay, Why, decide};
use super::policy::{Step, When};
use super::semver::SemVer;

/// The output of `upgrade --plan`. Its lines are those of the decision, so the plan is what the
/// watcher will do.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    pub installed: SemVer,
    pub unpublished: bool,
    pub lines: Vec<Outlook>,
}

pub fn forecast(situation: &Situation<'_>) -> Result<Forecast, Stay> {
    decide(situation).map(Forecast::from)
}

impl From<Decision> for Forecast {
    fn from(decision: Decision) -> Self {
        Self { installed: decision.installed, unpublished: decision.unpublished, lines: decision.outlook }
    }
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() && self.unpublished {
            return write!(f, "{} was unpublished, and nothing replaces it yet", self.installed);
        }
        if self.lines.is_empty() {
            return write!(f, "{} is the newest", self.installed);
        }
        // Left out if a replacement is installed because of it: the step's reason already mentions
        // it.
        if self.unpublished && !self.lines.iter().any(|line| line.why == Why::Unpublished) {
            write!(f, "{} was unpublished; ", self.installed)?;
        }
        for (at, line) in self.lines.iter().enumerate() {
            write!(f, "{}{line}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.entry.version;
        match &self.fate {
            Fate::Now => write!(f, "{version} now"),
            Fate::At { at } => write!(f, "{version} on {}", moment(at)),
            Fate::NoWindow => write!(f, "{version} has no window"),
            Fate::Waits => write!(f, "{version} waits for you"),
            Fate::Forbidden => write!(f, "{version} is not wanted"),
            Fate::Held => write!(f, "{version} is held"),
            Fate::Skipped => write!(f, "{version} is skipped"),
            Fate::Unfetchable => write!(f, "{version} cannot be fetched"),
        }
    }
}

/// The offset is included only when the clock shows this time twice.
fn moment(at: &Zoned) -> String {
    let zone = at.time_zone();
    let twice = zone.to_ambiguous_timestamp(at.datetime()).is_ambiguous();
    let offset = if twice { format!(" ({})", at.offset()) } else { String::new() };
    format!("{} {}{offset}", at.strftime("%A %Y-%m-%d %H:%M"), zone.iana_name().unwrap_or("UTC"))
}

impl Outlook {
    /// The reason for the fate, as a sentence without a full stop.
    pub fn reason(&self) -> String {
        let step = self.step;
        match (&self.why, &self.fate) {
            (Why::Policy(When::Immediate), _) => format!("{step} updates are immediate"),
            (Why::Policy(When::Window), Fate::Now) => format!("{step} updates come in a window, and one is open"),
            (Why::Policy(When::Window), Fate::NoWindow) => {
                format!(
                    "{step} updates wait for a window, and none opens in the next {} days",
                    super::decide::HORIZON_DAYS
                )
            }
            (Why::Policy(When::Window), _) => format!("{step} updates wait for a window"),
            (Why::Policy(When::Manual), _) => format!("{step} updates are manual"),
            (Why::Policy(When::Never), _) => format!("{step} updates are never installed"),
            (Why::Unpublished, _) => "the installed version was unpublished".to_owned(),
            (Why::UnpublishedAndManual, _) => {
                "the installed version was unpublished, perhaps because it is not safe, and patch updates are manual"
                    .to_owned()
            }
            (Why::Denied, Fate::NoWindow) => "upgrades are denied, and no end is in sight".to_owned(),
            (Why::Denied, _) => "upgrades are denied until then".to_owned(),
            (Why::Hold(hold), _) => hold.to_string(),
            (Why::RolledBack, _) => "it was rolled back".to_owned(),
            (Why::ShortId, _) => {
                "the channel has only a short id of its artifact, not the full `sha256:` digest".to_owned()
            }
        }
    }

    /// Why an operator's upgrade does not install this version now, if it only has to wait.
    pub fn in_the_way(&self) -> Option<String> {
        let Self { entry, step, fate, why } = self;
        let what = match why {
            Why::Denied => "upgrades are denied".to_owned(),
            Why::Policy(When::Window) => format!("{step} updates wait for a window"),
            _ => return None,
        };
        let until = match fate {
            Fate::At { at } => format!("until {}", moment(at)),
            Fate::NoWindow => "and no end is in sight".to_owned(),
            _ => return None,
        };
        Some(format!("{} is not installed now: {what} {until}", entry.version))
    }

    /// The warning to show before this version is installed.
    pub fn warning(&self) -> Option<String> {
        let version = &self.entry.version;
        (self.step == Step::Major)
            .then(|| format!("{version} is a major update: it may change or remove what others rely on"))
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.until {
            HoldUntil::Lifted => f.write_str("upgrades are held until you lift it")?,
            HoldUntil::Above(version) => write!(f, "upgrades are held until there is a version above {version}")?,
        }
        if self.reason.is_empty() { Ok(()) } else { write!(f, " ({})", self.reason) }
    }
}
