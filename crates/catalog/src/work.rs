//! One write to one app: the app's row, locked; who does it and when; the events it leaves behind.

use std::sync::Arc;

use milepost_model::change::Act;
use milepost_model::event::EventKind;
use milepost_model::{AppName, IdSource};
use serde_json::Value;

use crate::Catalog;
use crate::db::{BodyFuture, Ending, Tx};
use crate::error::{CatalogError, Result};
use crate::tables::apps::{self, AppRow};
use crate::tables::{app_versions, events, releases, versions};

/// After so many tries there is something wrong with the source of ids, not with our luck.
const TRIES: usize = 100;

pub(crate) struct Work<'t> {
    pub tx: &'t mut Tx,
    pub app: AppRow,
    pub act: Act,
    ids: Arc<dyn IdSource>,
}

impl Catalog {
    /// Runs `body` as one write to `app`.
    pub(crate) async fn work<T, F>(&self, app: &AppName, actor: &str, ending: Ending, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'w, 't> FnOnce(&'w mut Work<'t>) -> BodyFuture<'w, T> + Send + 'static,
    {
        let app = app.clone();
        let act = Act { actor: actor.to_owned(), at: self.clock.now() };
        let ids = Arc::clone(&self.ids);
        self.db
            .run(
                move |tx| {
                    Box::pin(async move {
                        let app = apps::lock(&mut *tx, &app).await?;
                        let mut work = Work { tx, app, act, ids };
                        let value = body(&mut work).await?;
                        apps::save(work.tx, &work.app).await?;
                        Ok(value)
                    })
                },
                ending,
            )
            .await
    }
}

impl<'t> Work<'t> {
    pub(crate) fn new(tx: &'t mut Tx, app: AppRow, act: Act, ids: Arc<dyn IdSource>) -> Self {
        Self { tx, app, act, ids }
    }

    pub(crate) async fn event(
        &mut self,
        kind: EventKind,
        subject: &str,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<()> {
        self.app.event_seq += 1;
        let new = events::NewEvent { kind, subject, before, after };
        events::insert(self.tx, self.app.id, self.app.event_seq, &self.act, &new).await
    }

    /// A uid that no version, label, app version or release of the app has ever had.
    pub(crate) async fn fresh_id(&mut self) -> Result<String> {
        for _ in 0..TRIES {
            let id = self.ids.short_id();
            let taken = versions::word_taken(self.tx, self.app.id, &id).await?
                || app_versions::find_by_uid(self.tx, self.app.id, &id).await?.is_some()
                || releases::name_taken(self.tx, self.app.id, &id).await?;
            if !taken {
                return Ok(id);
            }
        }
        Err(CatalogError::inconsistent("the source of ids gives only ids that are taken".to_owned()))
    }
}
