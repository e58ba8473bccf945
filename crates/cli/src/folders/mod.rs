//! The terminal as the front end of folders: shows what an apply reports, asks its questions, and
//! phrases its errors and next steps as commands.

mod builds;
mod interrupt;
mod phrase;
mod progress;
mod send;
mod sentences;
pub mod tell;

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use milepost_client::UploadSummary;
use milepost_declared::apply::{self, Applied, Options};
use milepost_declared::reporter::{Activity, Answer, Builds, Event, Progress, Question, Reporter};
use milepost_declared::{Declared, InFlight, Scanner, Session};

use crate::context::{Context, cache_folder};
use crate::failure::Result;

pub use interrupt::stoppable;
pub use phrase::{advice, app_option, hint, mistakes, not_publishable};
pub use progress::{bytes_bar, spinner};
pub use send::{send, write_reported};

pub struct Terminal<'a> {
    context: &'a Context<'a>,
    scanner: Scanner,
    /// Whether to show every line of a build instead of only the last one.
    verbose: bool,
    in_flight: InFlight,
}

impl<'a> Terminal<'a> {
    pub fn new(context: &'a Context<'a>) -> Self {
        Self { context, scanner: scanner(), verbose: false, in_flight: InFlight::default() }
    }

    pub fn verbose(context: &'a Context<'a>, verbose: bool) -> Self {
        Self { verbose, ..Self::new(context) }
    }

    pub fn session(&self) -> Session<'_> {
        Session {
            client: &self.context.client,
            app: &self.context.app,
            scanner: &self.scanner,
            reporter: self,
            in_flight: self.in_flight.clone(),
            private: &self.context.private,
        }
    }

    /// Applies a folder. Unset secrets that only the folder lists become warnings of the outcome.
    pub async fn apply(&self, declared: &Declared, options: &Options) -> Result<Applied> {
        let mut applied = apply::apply(&self.session(), declared, options).await?;
        applied.outcome = crate::phrase::outcome(&self.context.app, applied.outcome);
        applied.outcome.warnings.extend(applied.unset_secrets.iter().map(tell::in_a_line));
        Ok(applied)
    }

    /// Like [`Self::apply`], until Ctrl-C is pressed.
    pub async fn apply_until_interrupted(&self, declared: &Declared, options: &Options) -> Result<Applied> {
        let work = Box::pin(self.apply(declared, options));
        stoppable(self.context.ui, &self.in_flight, work).await
    }
}

/// Scans with the stat caches of this user, if there is a cache folder.
pub fn scanner() -> Scanner {
    Scanner::new(cache_folder().ok().map(|folder| folder.join("stat")))
}

impl Reporter for Terminal<'_> {
    fn report(&self, event: Event<'_>) {
        let (ui, app) = (self.context.ui, &self.context.app);
        match event {
            Event::NoCommit => ui.say("No git commit found; this deploy will not be linked to one."),
            Event::WouldCreateApp => ui.say(&format!("App {app} does not exist; it would be created.")),
            Event::AppCreated(app) => ui.say(&format!("App {} created, plan {}.", app.name, app.plan)),
            Event::AppDeleted => ui.say(&format!("App {app} was deleted again.")),
            Event::Uploaded(UploadSummary { files_sent, bytes_sent, .. }) => {
                let files = if *files_sent == 1 { "file" } else { "files" };
                ui.say(&format!("Uploaded {files_sent} {files} ({bytes_sent} bytes)"));
            }
            Event::Ignored(ignored) => tell::ignored(ui, ignored),
            Event::HandEdit(edit) => ui.warn(&sentences::hand_edit(edit)),
            Event::Overwrites(overwritten) => ui.warn(&sentences::overwritten(overwritten)),
            Event::KeepsChanging => ui.warn(&format!(
                "app {app} kept changing during planning; the latest change may be overwritten, see `milepost app \
                 list-version`"
            )),
        }
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, io::Result<Answer>> {
        let text = match question {
            Question::UndoHandEdits => "Undo these changes?",
            Question::Overwrite => "Overwrite it?",
        };
        Box::pin(async move {
            if !self.context.asks() {
                return Ok(Answer::Unattended);
            }
            // Blocks, so that nothing else is printed below the question.
            Ok(if self.context.ui.ask(text)? { Answer::Yes } else { Answer::No })
        })
    }

    fn begin(&self, activity: Activity<'_>) -> Arc<dyn Progress> {
        progress::bar(self.context.ui, activity)
    }

    fn builds(&self, count: usize) -> Box<dyn Builds + '_> {
        Box::new(builds::View::new(self.context.ui, count, self.verbose))
    }
}
