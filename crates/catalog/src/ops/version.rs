use milepost_model::change::UnitKey;
use milepost_model::event::EventKind;
use milepost_model::snapshot::Version;
use milepost_model::{AppName, Selector};
use serde_json::json;

use crate::Catalog;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::tables::{units, versions};
use crate::{read, resolve};

impl Catalog {
    /// Edits the description, the only field of a version that can change.
    pub async fn version_describe(
        &self,
        app: &AppName,
        actor: &str,
        key: UnitKey,
        selector: Selector,
        description: String,
    ) -> Result<Written<Version>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
                let version = resolve::version(work.tx, &unit, &selector).await?;
                versions::set_description(work.tx, version.id, &description).await?;
                let before = json!({ "number": version.number, "description": version.description });
                let after = json!({ "number": version.number, "description": description });
                work.event(EventKind::VersionDescribed, &unit.key().to_string(), Some(before), Some(after));
                let version = versions::get(work.tx, version.id).await?;
                read::version_view(work.tx, &work.app, &unit, &version).await
            })
        })
        .await
    }
}
