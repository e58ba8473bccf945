//! What a write changed, for the server that made it (`docs/decisions/015-effects-of-writes.md`).

use milepost_model::AppName;
use milepost_model::event::EventKind;

/// The result of a committed write, with its effects.
#[derive(Debug, Clone)]
#[must_use = "the effects of a write must be applied before it is answered"]
pub struct Written<T> {
    value: T,
    effects: Effects,
}

/// What a write changed. Nothing for a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "the effects of a write must be applied before it is answered"]
pub struct Effects {
    /// `None` for a write that belongs to no app.
    pub app: Option<AppName>,
    /// What the gateway serves: pointers and releases.
    pub serving: bool,
    /// When timers and jobs are due.
    pub timers: bool,
    /// Who may call functions.
    pub tokens: bool,
    /// When installs are checked.
    pub installs: bool,
}

impl<T> Written<T> {
    pub(crate) fn new(value: T, effects: Effects) -> Self {
        Self { value, effects }
    }

    pub fn split(self) -> (T, Effects) {
        (self.value, self.effects)
    }

    /// The result alone: for a program that serves nothing yet, and for tests.
    pub fn unapplied(self) -> T {
        self.value
    }

    #[must_use = "the effects of a write must be applied before it is answered"]
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Written<U> {
        Written { value: to(self.value), effects: self.effects }
    }
}

impl Effects {
    /// The effects of a write to an app that emitted these events. Without events, the app was
    /// already as asked, maybe by a write of another node that this one has not seen yet.
    pub(crate) fn of(app: AppName, events: impl ExactSizeIterator<Item = EventKind>) -> Self {
        if events.len() == 0 {
            return Self::seen(app);
        }
        let none = Self { app: Some(app), ..Self::default() };
        events.fold(none, |effects, event| effects.and(event))
    }

    /// For a node that learned of a write by another one, of which it knows no details.
    pub fn seen(app: AppName) -> Self {
        Self { app: Some(app), serving: true, timers: true, ..Self::default() }
    }

    pub(crate) fn tokens() -> Self {
        Self { tokens: true, ..Self::default() }
    }

    fn and(mut self, event: EventKind) -> Self {
        match event {
            EventKind::LiveMoved | EventKind::RolloutStarted | EventKind::RolloutChanged | EventKind::RolloutEnded => (self.serving, self.timers) = (true, true),
            // The gateway may have cached that the app does not exist.
            EventKind::AppCreated
            | EventKind::VersionDeleted
            | EventKind::ReleaseCreated
            | EventKind::ReleaseExpired
            | EventKind::LatestMoved
            | EventKind::TagMoved
            | EventKind::TagDeleted
            | EventKind::AliasMoved
            | EventKind::AliasDeleted => self.serving = true,
            // The app's tokens apply to no app from here on, even if the name is used again.
            EventKind::AppDeleted => (self.serving, self.timers, self.tokens) = (true, true, true),
            EventKind::JobCreated | EventKind::JobChanged => self.timers = true,
            EventKind::InstallCreated
            | EventKind::InstallChanged
            | EventKind::InstallHeld
            | EventKind::InstallLifted => self.installs = true,
            // A new version, or one that leaves the app, is served only by a new release.
            EventKind::VersionCreated
            | EventKind::VersionDescribed
            | EventKind::UnitRemoved
            | EventKind::UnitTakenOver
            | EventKind::UnitPutBack
            | EventKind::AppVersionCreated
            // Latest and live move with events of their own.
            | EventKind::ReleaseChecked
            | EventKind::LivePinned
            | EventKind::LiveUnpinned
            | EventKind::PlanChanged
            | EventKind::GroupChanged
            | EventKind::GroupDeleted
            | EventKind::JobDeleted
            | EventKind::WebhookCreated
            | EventKind::WebhookChanged
            | EventKind::WebhookDeleted
            | EventKind::InstallUpgraded
            | EventKind::InstallForced
            | EventKind::InstallDetached
            // The node that found the cut has read the app again.
            | EventKind::HistoryCut
            | EventKind::AppPublished
            | EventKind::AppUnpublished => {}
        }
        self
    }
}
