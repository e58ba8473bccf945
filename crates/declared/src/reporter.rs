//! What an apply reports and asks while it runs. The front end decides how to show it.

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use milepost_client::UploadSummary;
use milepost_client::api::App;
use milepost_client::source::Ignored;
use milepost_model::UnitName;
use milepost_model::base::HandEdit;
use milepost_model::build::BuildEvent;
use milepost_model::change::Change;

use super::apply::Overwritten;

/// A front end: a terminal, a console, a test.
pub trait Reporter: Send + Sync {
    fn report(&self, event: Event<'_>);

    /// Asks the user. `Unattended` if there is no one to ask, or the user agreed in advance.
    fn ask(&self, question: Question) -> BoxFuture<'_, io::Result<Answer>>;

    /// Starts to show an activity, until the result is dropped.
    fn begin(&self, activity: Activity<'_>) -> Arc<dyn Progress>;

    /// Starts to show builds, until the result is dropped.
    fn builds(&self, count: usize) -> Box<dyn Builds + '_>;
}

#[derive(Debug)]
pub enum Event<'a> {
    /// The folder has no git commit that the app version could be linked to.
    NoCommit,
    /// A dry run found that the app does not exist.
    WouldCreateApp,
    AppCreated(&'a App),
    /// The apply failed, so the app that it created was deleted again.
    AppDeleted,
    Uploaded(&'a UploadSummary),
    /// What ignore files excluded.
    Ignored(&'a Ignored),
    /// The apply undoes a change made by hand.
    HandEdit(&'a HandEdit),
    /// The apply overwrites work that the local tree does not contain.
    Overwrites(&'a Overwritten),
    /// The app kept changing during planning, so its latest change may be overwritten.
    KeepsChanging,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Undo the reported changes made by hand? An advance agreement does not count, because it was
    /// given before these changes were known.
    UndoHandEdits,
    /// Overwrite the reported work?
    Overwrite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    Unattended,
}

/// Work that takes long enough to show.
#[derive(Debug)]
pub enum Activity<'a> {
    /// In bytes. The total is known when the server has said what it lacks.
    Upload,
    /// In archives.
    Download,
    /// The server checks that new functions load before it answers.
    Change(&'a Change),
}

pub trait Progress: Send + Sync {
    fn set_total(&self, total: u64);
    fn advance(&self, by: u64);
    /// What is being worked on.
    fn set_item(&self, name: &str);
}

/// The progress of several builds at once.
pub trait Builds: Send + Sync {
    fn begin(&self, package: &UnitName);
    fn event(&self, package: &UnitName, event: &BuildEvent);
}
