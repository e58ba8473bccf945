//! The last steps of an apply: uploads, builds, and the change on the app version that it was
//! planned on.
//!
//! Other changes may land during uploads and builds. They do not fail the apply: it plans again,
//! reports whose work it would now overwrite, and continues.

use milepost_client::ClientError;
use milepost_model::base::Base;
use milepost_model::change::Change;
use milepost_model::{ChangeOutcome, Code};

use super::{Apply, build, draft, interrupt, overwrite, tell};
use crate::context::Unattended;
use crate::failure::{Failure, Result};
use crate::sources;

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
                Err(failure) if self.has_moved(&failure) => self.moves += 1,
                planned => return planned,
            }
        }
        self.live = None;
        if self.head.take().is_some() {
            self.context.ui.warn(&format!(
                "app {} kept changing during planning; the latest change may be overwritten, see `milepost app \
                 list-version`",
                self.context.app
            ));
        }
        self.plan().await
    }

    pub(super) async fn land(&mut self, mut change: Change, mut plan: ChangeOutcome) -> Result<ChangeOutcome> {
        let (mut again, mut files_are_there) = (true, false);
        loop {
            if !files_are_there {
                let sent = sources::upload_all(self.context, self.trees.sources(), "Uploading").await?;
                if !self.options.watching {
                    tell::sent(self.context.ui, &sent, &self.trees);
                }
                files_are_there = true;
            }
            let built = build::all(self.context, self.builds(&plan, &change).await?, self.options.verbose).await;
            if let Err(failure) = built {
                // Keep the app, because it has the log of the build.
                self.made_app = false;
                return Err(failure);
            }
            if self.is_first().await? {
                change.dry_run = false;
                match interrupt::landing(self.context.change(&change)).await {
                    // Since the plan, an environment was changed or a sweep removed some files.
                    Err(failure) if again && matches!(failure.code(), Some(Code::BuildNeeded | Code::MissingBlobs)) => {
                        (again, files_are_there) = (false, false);
                    }
                    Err(failure) if self.has_moved(&failure) => self.moves += 1,
                    outcome => return outcome,
                }
            } else {
                self.moves += 1;
            }
            self.environments.forget_app();
            if draft::unknown_environment(self.declared, &self.environments) {
                self.environments.ask(self.context).await?;
            }
            (change, plan) = self.plan_on_head().await?;
            if self.is_up_to_date(&plan) {
                return self.up_to_date(change, plan).await;
            }
            self.ask_to_overwrite(&plan).await?;
        }
    }

    /// Reports whose work would be overwritten, once, and asks if there is a terminal.
    pub(super) async fn ask_to_overwrite(&mut self, plan: &ChangeOutcome) -> Result<()> {
        self.ask_about_hand_edits(plan)?;
        let on = self.options.change.on.unwrap_or_default();
        let found = overwrite::find(self.context, &self.declared.folder, plan, on).await;
        let mut is_new = false;
        for sentence in found.iter().map(overwrite::sentence) {
            if !self.told.contains(&sentence) {
                self.context.ui.warn(&sentence);
                self.told.push(sentence);
                is_new = true;
            }
        }
        if !is_new || self.options.change.dry_run || self.options.watching {
            return Ok(());
        }
        self.context.confirm("Overwrite it?", Unattended::Proceed)
    }

    /// A change cannot expect that an app has no version yet, so this is checked right before it is
    /// sent.
    async fn is_first(&self) -> Result<bool> {
        let is_known = self.head.is_some() || self.options.change.expect.is_some() || self.moves > 0;
        Ok(is_known || self.newest().await?.is_none())
    }

    async fn newest(&self) -> Result<Option<String>> {
        match self.context.client.app_version_get(&self.context.app, "head").await {
            Err(ClientError::Refused(problem)) if problem.code == Code::AppVersionNotFound.as_str() => Ok(None),
            found => Ok(Some(found?.id)),
        }
    }

    /// The release that a change on live is planned on. None for a change on head, and if nothing
    /// is live, which the server rejects.
    pub(super) async fn live_base(&self) -> Option<String> {
        if self.options.change.on != Some(Base::Live) {
            return None;
        }
        self.context.client.live_get(&self.context.app).await.ok()?.release.map(|release| release.id)
    }

    fn has_moved(&self, failure: &Failure) -> bool {
        self.head.as_ref().is_some_and(|head| has_moved_from(head, failure))
    }
}

/// Whether the change was rejected because the head of the app moved.
fn has_moved_from(head: &str, failure: &Failure) -> bool {
    match failure.code() {
        Some(Code::HeadMoved) => true,
        // A missing app version cannot be the head. Other missing things are unrelated.
        Some(Code::AppVersionNotFound) => failure.message().contains(&format!("`{head}`")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use milepost_client::api::Problem;

    use super::*;

    fn refused(code: Code, detail: &str) -> Failure {
        let problem = Problem {
            kind: String::new(),
            title: String::new(),
            status: 404,
            code: code.as_str().to_owned(),
            detail: detail.to_owned(),
            hint: None,
            blockers: Vec::new(),
        };
        ClientError::Refused(Box::new(problem)).into()
    }

    #[test]
    fn a_missing_app_version_is_a_moved_head_only_if_it_was_the_head() {
        let moved = |code: Code, detail: &str| has_moved_from("0192ab", &refused(code, detail));
        assert!(moved(Code::HeadMoved, "App `shop` has moved."));
        assert!(moved(Code::AppVersionNotFound, "App `shop` has no app version `0192ab`."));
        assert!(!moved(Code::AppVersionNotFound, "App `shop` has no app version or release `0192abc`."));
        assert!(!moved(Code::UnitNotFound, "App `shop` has no function `0192ab`."));
    }
}
