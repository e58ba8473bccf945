//! Jobs in the form of a v1 list.

use milepost_model::AppName;
use milepost_model::job::Job;

use crate::Catalog;
use crate::error::Result;
use crate::read::{PageOf, cut};
use crate::tables::qinling::jobs;

impl Catalog {
    /// Newest first, with ids below `below`. Large inputs are left out.
    pub async fn v1_job_list(&self, app: &AppName, below: Option<String>, limit: i64) -> Result<PageOf<Job, String>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut items = jobs::list(tx, app.id, below.as_deref(), limit.saturating_add(1)).await?;
                let next = cut(&mut items, limit, |job| job.id.clone());
                Ok(PageOf { items, next })
            })
        })
        .await
    }
}
