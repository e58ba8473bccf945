//! The last steps of an apply: uploads, builds, and the change on the app version that it was
//! planned on.
//!
//! Other changes may land during uploads and builds. They do not fail the apply: it plans again,
//! reports whose work it would now overwrite, and continues.

use milepost_client::ClientError;
use milepost_model::base::Base;
use milepost_model::change::Change;
use milepost_model::{ChangeOutcome, Code};

use super::{Apply, build, draft, overwrite};
use crate::error::{Error, Result};
use crate::reporter::{Answer, Event, Question};

/// How often the head may move before the change is sent without an expectation, so that an apply
/// always ends.
const MOST_MOVES: usize = 10;

impl Apply<'_> {
    /// Plans on the newest app version, and makes the change expect it. An expectation of the user
    /// is kept.
    pub(super) async fn plan_on_head(&mut self) -> Result<(Change, ChangeOutcome)> {
        while self.options.change.expect.is_none() && self.moves < MOST_MOVES {
            self.head = self.newest().await?;
            self.live = self.live_base().await;
            match self.plan().await {
                Err(error) if self.has_moved(&error).await => self.moves += 1,
                planned => return planned,
            }
        }
        self.live = None;
        if self.head.take().is_some() {
            self.session.reporter.report(Event::KeepsChanging);
        }
        self.plan().await
    }

    pub(super) async fn land(&mut self, mut change: Change, mut plan: ChangeOutcome) -> Result<ChangeOutcome> {
        let (mut again, mut files_are_there) = (true, false);
        loop {
            if !files_are_there {
                let sent = self.session.upload(self.trees.sources()).await?;
                if sent.files_sent > 0 && !self.options.watching {
                    self.session.reporter.report(Event::Uploaded(&sent));
                    self.session.reporter.report(Event::Ignored(&self.trees.ignored()));
                }
                files_are_there = true;
            }
            let built = build::all(self.session, self.builds(&plan, &change).await?).await;
            if let Err(error) = built {
                // Keep the app, because it has the log of the build.
                self.made_app = false;
                return Err(error);
            }
            if self.is_first().await? {
                change.dry_run = false;
                match self.session.in_flight.landing(self.session.change(&change)).await {
                    // Since the plan, an environment was changed or a sweep removed some files.
                    Err(error) if again && matches!(error.code(), Some(Code::BuildNeeded | Code::MissingBlobs)) => {
                        (again, files_are_there) = (false, false);
                    }
                    Err(error) if self.has_moved(&error).await => self.moves += 1,
                    outcome => return outcome,
                }
            } else {
                self.moves += 1;
            }
            self.environments.forget_app();
            if draft::unknown_environment(self.declared, &self.environments) {
                self.environments.ask(self.session).await?;
            }
            (change, plan) = self.plan_on_head().await?;
            if self.is_up_to_date(&plan) {
                return self.up_to_date(change, plan).await;
            }
            self.ask_to_overwrite(&plan).await?;
        }
    }

    /// Reports whose work would be overwritten, once, and asks if it can.
    pub(super) async fn ask_to_overwrite(&mut self, plan: &ChangeOutcome) -> Result<()> {
        self.ask_about_hand_edits(plan).await?;
        let found = overwrite::find(self.session, &self.declared.folder, plan, self.options.change.on).await;
        let mut is_new = false;
        for overwritten in found {
            if !self.overwritten.contains(&overwritten) {
                self.session.reporter.report(Event::Overwrites(&overwritten));
                self.overwritten.push(overwritten);
                is_new = true;
            }
        }
        if !is_new || self.options.change.dry_run || self.options.watching {
            return Ok(());
        }
        match self.session.reporter.ask(Question::Overwrite).await? {
            Answer::Yes | Answer::Unattended => Ok(()),
            Answer::No => Err(Error::Cancelled),
        }
    }

    /// A change cannot expect that an app has no version yet, so this is checked right before it is
    /// sent.
    async fn is_first(&self) -> Result<bool> {
        let is_known = self.head.is_some() || self.options.change.expect.is_some() || self.moves > 0;
        Ok(is_known || self.newest().await?.is_none())
    }

    async fn newest(&self) -> Result<Option<String>> {
        match self.session.client.app_version_get(self.session.app, "head").await {
            Err(ClientError::Refused(problem)) if problem.code == Code::AppVersionNotFound.as_str() => Ok(None),
            found => Ok(Some(found?.id)),
        }
    }

    /// The release that a change on live is planned on. None for a change on head, and if nothing
    /// is live, which the server rejects.
    pub(super) async fn live_base(&self) -> Option<String> {
        if self.options.change.on != Base::Live {
            return None;
        }
        self.session.client.live_get(self.session.app).await.ok()?.release.map(|release| release.id)
    }

    /// Whether the change was rejected because the head of the app moved.
    async fn has_moved(&self, error: &Error) -> bool {
        match (&self.head, error.code()) {
            (Some(_), Some(Code::HeadMoved)) => true,
            // The expected head may be gone. The server reports other missing app versions with
            // the same code, so it is asked for its head.
            (Some(head), Some(Code::AppVersionNotFound)) => {
                self.newest().await.is_ok_and(|newest| newest.as_ref() != Some(head))
            }
            _ => false,
        }
    }
}
