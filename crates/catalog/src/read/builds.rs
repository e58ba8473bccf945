use milepost_model::build::Build;
use milepost_model::{AppName, Code, Next, Refusal};

use super::{Page, PageOf, cut};
use crate::Catalog;
use crate::error::Result;
use crate::tables::builds;

/// Number of newest builds whose ids are suggested when the requested one does not exist.
const SUGGEST_FROM: i64 = 100;

impl Catalog {
    pub async fn build_get(&self, app: &AppName, id: String) -> Result<Build> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                if let Some(row) = builds::find_by_uid(tx, app.id, &id).await? {
                    return Ok(row.build);
                }
                let recent = builds::list(tx, app.id, None, SUGGEST_FROM).await?;
                let ids: Vec<String> = recent.into_iter().map(|row| row.build.id).collect();
                let message = format!("app `{}` has no build `{id}`", app.name);
                let why = "builds are deleted 30 days after they were last used".to_owned();
                let how = [Next::Correct { how: why }];
                Err(Refusal::not_found(Code::BuildNotFound, message, &id, &ids, how).into())
            })
        })
        .await
    }

    /// Newest first.
    pub async fn build_list(&self, app: &AppName, page: Page) -> Result<PageOf<Build>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut rows = builds::list(tx, app.id, page.below, page.fetch()).await?;
                let next = cut(&mut rows, page.limit, |row| row.id);
                Ok(PageOf { items: rows.into_iter().map(|row| row.build).collect(), next })
            })
        })
        .await
    }
}
