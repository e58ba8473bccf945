//! Publications that an author reports, for the app's event log.

use milepost_model::AppName;
use milepost_model::channel::{Publication, PublicationKind};
use milepost_model::event::EventKind;
use serde_json::json;

use crate::Catalog;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;

impl Catalog {
    /// Records that a version of the app was published or unpublished.
    pub async fn record_publication(&self, app: &AppName, actor: &str, told: Publication) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let Publication { done, package, channel, version, id, place, app_version } = told;
                let what = json!({ "version": version, "channel": channel, "id": id, "place": place,
                                   "appVersion": app_version });
                let subject = format!("package {package}");
                match done {
                    PublicationKind::Published => work.event(EventKind::AppPublished, &subject, None, Some(what)),
                    PublicationKind::Unpublished => work.event(EventKind::AppUnpublished, &subject, Some(what), None),
                }
                Ok(())
            })
        })
        .await
    }
}
