use milepost_model::AppName;
use milepost_model::event::EventKind;
use serde_json::json;

use crate::db::Ending;
use crate::error::Result;
use crate::read::Position;
use crate::tables::events;
use crate::{Catalog, Written};

impl Catalog {
    /// Records in an app's history that an event which a node had read was lost in a failover or a
    /// restore. Recorded once, whichever node comes first. Returns whether this was it.
    pub async fn history_cut(&self, app: &AppName, lost: Position) -> Result<bool> {
        let written = self.work(app, "milepost", Ending::Commit, move |work| {
            Box::pin(async move {
                if work.app.id != lost.app_id {
                    return Ok(false);
                }
                let subject = format!("event {}", lost.event);
                let before = json!({ "event": lost.event, "digest": lost.digest });
                let known = events::last_about(work.tx, work.app.id, EventKind::HistoryCut, &subject).await?;
                if known.is_some_and(|known| known.before.as_ref() == Some(&before)) {
                    return Ok(false);
                }
                let after = json!({ "event": work.app.event_seq, "digest": work.app.digest() });
                work.event(EventKind::HistoryCut, &subject, Some(before), Some(after));
                Ok(true)
            })
        });
        // Changes nothing that is served.
        written.await.map(Written::unapplied)
    }
}
