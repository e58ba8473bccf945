//! Enums that are stored as words. A column holds one word of a fixed set, which a constraint of the
//! database checks as well (migration 13). A new word needs a migration that replaces the
//! constraint.

use milepost_model::build::BuildState;
use milepost_model::check::CheckState;
use milepost_model::execution::{AttemptEnd, CauseKind, ExecutionStatus};
use milepost_model::install::InstallMode;
use milepost_model::job::JobState;
use milepost_model::pointer::Step;
use milepost_model::release::{LiveMode, ReleaseState};
use milepost_model::spec::PinRole;
use milepost_model::{PlanName, Role, UnitKind};

/// A type whose values are stored as words.
pub(crate) trait Word: Copy + PartialEq + 'static {
    const ALL: &'static [Self];

    fn word(self) -> &'static str;

    fn from_word(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.word() == text)
    }
}

/// Implements [`Word`] for enums without words of their own.
macro_rules! words {
    ($($type:ident { $($variant:ident => $text:literal),+ $(,)? })+) => {
        $(impl Word for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn word(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        })+
    };
}

/// Implements [`Word`] for enums of the model that list their values.
macro_rules! listed {
    ($($type:ident = $all:expr;)+) => {
        $(impl Word for $type {
            const ALL: &'static [Self] = $all;

            fn word(self) -> &'static str {
                self.as_str()
            }
        })+
    };
}

pub(crate) use words;

words! {
    LiveMode { Following => "following", Pinned => "pinned" }
    ReleaseState { Active => "active", Expired => "expired" }
    BuildState { Succeeded => "succeeded", Failed => "failed" }
    Step { Forward => "forward", Back => "back" }
}

listed! {
    CheckState = &[Self::None, Self::Passed, Self::Pending, Self::Failed, Self::Skipped];
    PinRole = &[Self::Package, Self::Environment, Self::Target];
    PlanName = &PlanName::ALL;
    Role = &Role::ALL;
    UnitKind = &UnitKind::ALL;
    ExecutionStatus = ExecutionStatus::ALL;
    CauseKind = CauseKind::ALL;
    AttemptEnd = AttemptEnd::ALL;
    JobState = JobState::ALL;
    InstallMode = InstallMode::ALL;
}
