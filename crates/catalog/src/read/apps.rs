use milepost_model::release::Live;
use milepost_model::{AppName, PlanName, Timestamp};

use super::{PageOf, cut, live_view};
use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::tables::apps::{self, AppRow};
use crate::tables::{app_versions, blobs};

/// An app in its current state.
#[derive(Debug, Clone)]
pub struct App {
    pub name: AppName,
    pub plan: PlanName,
    pub created_at: Timestamp,
    pub created_by: String,
    /// The uid of the newest app version.
    pub head: Option<String>,
    pub live: Live,
    pub stored_bytes: u64,
}

pub(crate) async fn app_view(tx: &mut Tx, app: &AppRow) -> Result<App> {
    let head = if app.head_seq > 0 { Some(app_versions::get(tx, app.id, app.head_seq).await?.uid) } else { None };
    Ok(App {
        name: app.name.clone(),
        plan: app.plan,
        created_at: app.created_at,
        created_by: app.created_by.clone(),
        head,
        live: live_view(tx, app).await?,
        stored_bytes: blobs::stored_bytes(tx, app.id).await?,
    })
}

impl Catalog {
    pub async fn app_get(&self, name: &AppName) -> Result<App> {
        let name = name.clone();
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &name).await?;
                    app_view(tx, &app).await
                })
            })
            .await
    }

    pub async fn app_list(&self, after: Option<String>, limit: i64) -> Result<PageOf<App, String>> {
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let mut rows = apps::list(tx, after.as_deref(), limit.saturating_add(1)).await?;
                    let next = cut(&mut rows, limit, |app| app.name.to_string());
                    let mut items = Vec::with_capacity(rows.len());
                    for app in &rows {
                        items.push(app_view(tx, app).await?);
                    }
                    Ok(PageOf { items, next })
                })
            })
            .await
    }
}
