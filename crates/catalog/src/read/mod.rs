//! All reads. They turn rows into the model's snapshots.

mod app_versions;
mod apps;
mod builds;
mod causes;
mod executions;
mod history;
mod installs;
mod serving;
mod timers;
mod units;
mod views;

use milepost_model::AppName;

use crate::Catalog;
use crate::db::{BodyFuture, Tx};
use crate::error::Result;
use crate::tables::apps::AppRow;

pub(crate) use app_versions::find_app_version;
pub use apps::App;
pub(crate) use apps::app_view;
pub(crate) use executions::{execution_view, with_attempts};
pub use history::AtMoment;
pub(crate) use history::unknown_tag;
pub(crate) use installs::{changed_by_hand, install_view};
pub(crate) use serving::functions_at;
pub use serving::{Continuity, Known, Position};
pub use serving::{Serving, ServingAlias, ServingFunction, ServingFunctions, ServingRelease, ServingVersion};
pub use units::DeploymentUnits;
pub(crate) use units::{release_triggers_following, triggers_following, unknown_group};
pub(crate) use views::{alias_view, live_view, object_view, version_view, with_pin_numbers};

impl Catalog {
    /// Runs `body` on one consistent snapshot of an app.
    pub(crate) async fn look<T, F>(&self, app: &AppName, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx, AppRow) -> BodyFuture<'t, T> + Send + 'static,
    {
        let app = app.clone();
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let app = crate::tables::apps::get(&mut *tx, &app).await?;
                    body(tx, app).await
                })
            })
            .await
    }
}

/// One page of a list: `limit` items after a position, newest first in lists with a time order.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub below: Option<i64>,
    pub limit: i64,
}

/// Items, and the position of the next page if there are more.
#[derive(Debug, Clone)]
pub struct PageOf<T, P = i64> {
    pub items: Vec<T>,
    pub next: Option<P>,
}

impl Page {
    /// Fetches one extra row, which shows whether there is a next page.
    pub(crate) fn fetch(&self) -> i64 {
        self.limit.saturating_add(1)
    }
}

/// Removes the extra row and returns the position of the last remaining one.
pub(crate) fn cut<T, P>(items: &mut Vec<T>, limit: i64, position: impl Fn(&T) -> P) -> Option<P> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if items.len() <= limit {
        return None;
    }
    items.truncate(limit);
    items.last().map(position)
}
