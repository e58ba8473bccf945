use milepost_model::AppName;
use milepost_model::timer::LiveTimers;

use crate::Catalog;
use crate::error::Result;
use crate::tables::{releases, timers};

impl Catalog {
    /// Returns the active timers, which are those of the live release, by name.
    pub async fn live_timers(&self, app: &AppName) -> Result<LiveTimers> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let Some(id) = app.live_release_id else { return Ok(LiveTimers { release: None, items: Vec::new() }) };
                let live = releases::get(tx, id).await?;
                let items = timers::shown(tx, app.id, live.app_seq).await?;
                Ok(LiveTimers { release: Some(live.name), items })
            })
        })
        .await
    }
}
