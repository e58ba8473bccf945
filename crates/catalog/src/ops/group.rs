use milepost_model::event::EventKind;
use milepost_model::refusal::View;
use milepost_model::{AppName, Code, GroupName, Next, Refusal};

use crate::Catalog;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::tables::groups;

impl Catalog {
    /// Deletes a group, but no function.
    pub async fn group_delete(&self, app: &AppName, actor: &str, name: GroupName) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let Some((id, _)) = groups::find(work.tx, work.app.id, name.as_str()).await? else {
                    return Err(crate::read::unknown_group(work.tx, &work.app, name.as_str()).await?.into());
                };
                groups::delete(work.tx, id).await?;
                work.event(EventKind::GroupDeleted, &format!("group {name}"), None, None);
                Ok(())
            })
        })
        .await
    }
}

pub(crate) fn unknown(app: &AppName, name: &str, existing: &[String]) -> Refusal {
    let message = format!("app `{app}` has no group `{name}`");
    Refusal::not_found(Code::GroupNotFound, message, name, existing, [Next::See { view: View::Groups }])
}
