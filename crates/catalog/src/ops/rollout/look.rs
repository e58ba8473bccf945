use milepost_model::rollout::RolloutView;
use milepost_model::{AppName, Code, Refusal};

use super::view;
use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::read::{Page, PageOf, cut};
use crate::tables::apps::AppRow;
use crate::tables::rollouts::{self, RolloutRow};

/// Suggestions for a name that does not exist.
const NEAR: i64 = 100;

impl Catalog {
    pub async fn rollout_get(&self, app: &AppName, name: String) -> Result<RolloutView> {
        self.look(app, move |tx, app| Box::pin(async move { Ok(view(find(tx, &app, &name).await?)) })).await
    }

    /// Returns the rollouts of an app, newest first.
    pub async fn rollout_list(&self, app: &AppName, page: Page) -> Result<PageOf<RolloutView>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut rows = rollouts::list(tx, app.id, page.below, page.fetch()).await?;
                let next = cut(&mut rows, page.limit, |row| row.id);
                Ok(PageOf { items: rows.into_iter().map(view).collect(), next })
            })
        })
        .await
    }
}

pub(super) async fn find(tx: &mut Tx, app: &AppRow, name: &str) -> Result<RolloutRow> {
    if let Some(row) = rollouts::find(tx, app.id, name).await? {
        return Ok(row);
    }
    let names: Vec<String> = rollouts::list(tx, app.id, None, NEAR).await?.into_iter().map(|row| row.name).collect();
    let message = format!("app `{}` has no rollout `{name}`", app.name);
    Err(Refusal::not_found(Code::RolloutNotFound, message, name, &names, []).into())
}
