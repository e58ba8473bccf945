//! One write to one app: its locked row, the actor and the time, and the events that the write
//! emits.

use std::collections::HashMap;
use std::sync::Arc;

use milepost_model::change::Act;
use milepost_model::event::EventKind;
use milepost_model::release::LiveMode;
use milepost_model::{AppName, IdSource};
use serde_json::Value;

use crate::Catalog;
use crate::checking::Checking;
use crate::db::{BodyFuture, Ending, Tx};
use crate::effects::{Effects, Written};
use crate::error::{CatalogError, Result};
use crate::releasing;
use crate::tables::apps::{self, AppRow};
use crate::tables::events::{self, NewEvent};
use crate::tables::releases;

/// Gives up after this many collisions: the id source is broken.
const TRIES: usize = 100;

pub(crate) struct Work<'t> {
    pub tx: &'t mut Tx,
    pub app: AppRow,
    pub act: Act,
    pub ids: Arc<dyn IdSource>,
    /// The domain that apps are served under; empty if unknown.
    pub domain: Arc<str>,
    /// The mode of live as last recorded in its history.
    pub told_live_mode: LiveMode,
    /// Who checks the releases that this write makes.
    pub checking: Checking,
    /// Written at the end, in one statement.
    events: Vec<NewEvent>,
    /// Cache of the names of releases that this write read or made.
    release_names: HashMap<i64, String>,
}

/// Snapshot of the in-memory state of [`Work`].
pub(crate) struct Mark {
    app: AppRow,
    told_live_mode: LiveMode,
    events: usize,
}

impl Catalog {
    /// Runs `body` as one write to `app`.
    pub(crate) async fn work<T, F>(&self, app: &AppName, actor: &str, ending: Ending, body: F) -> Result<Written<T>>
    where
        T: Send + 'static,
        F: for<'w, 't> FnOnce(&'w mut Work<'t>) -> BodyFuture<'w, T> + Send + 'static,
    {
        let _turn = self.db.turn(app.as_str()).await;
        let app = app.clone();
        let actor = actor.to_owned();
        let (ids, domain) = (Arc::clone(&self.ids), Arc::clone(&self.domain));
        let done = self.db.run(
            move |tx| {
                Box::pin(async move {
                    let act = Act { actor, at: tx.now() };
                    let app = apps::lock(&mut *tx, &app).await?;
                    let mut work = Work { domain, ..Work::new(tx, app, act, ids) };
                    let value = body(&mut work).await?;
                    let effects = work.finish().await?;
                    Ok((value, effects))
                })
            },
            ending,
        );
        let (value, effects) = done.await?;
        Ok(Written::new(value, if ending == Ending::Commit { effects } else { Effects::default() }))
    }
}

impl<'t> Work<'t> {
    pub(crate) fn new(tx: &'t mut Tx, app: AppRow, act: Act, ids: Arc<dyn IdSource>) -> Self {
        let told_live_mode = app.live_mode;
        let (checking, domain) = (Checking::default(), "".into());
        Self { tx, app, act, ids, domain, told_live_mode, checking, events: Vec::new(), release_names: HashMap::new() }
    }

    /// Writes the events and the app's row.
    pub(crate) async fn finish(&mut self) -> Result<Effects> {
        // A caller with a reason to record has already done so.
        releasing::tell_live_mode(self, "").await?;
        events::insert(self.tx, &mut self.app, &self.act, &self.events).await?;
        apps::save(self.tx, &self.app).await?;
        self.tx.tell(self.app.name.as_str()).await?;
        Ok(Effects::of(self.app.name.clone(), self.events.iter().map(|event| event.kind)))
    }

    /// Sets a savepoint to return to with [`Self::forget_since`].
    pub(crate) async fn mark(&mut self) -> Result<Mark> {
        self.tx.savepoint().await?;
        Ok(Mark { app: self.app.clone(), told_live_mode: self.told_live_mode, events: self.events.len() })
    }

    /// Undoes everything since the mark. No other mark may have been set since.
    pub(crate) async fn forget_since(&mut self, mark: Mark) -> Result<()> {
        self.tx.back_to_savepoint().await?;
        self.app = mark.app;
        self.told_live_mode = mark.told_live_mode;
        self.events.truncate(mark.events);
        // The rolled-back ids may be given to other releases.
        self.release_names.clear();
        Ok(())
    }

    /// Adds an event. The lock on the app's row reserves its number.
    pub(crate) fn event(&mut self, kind: EventKind, subject: &str, before: Option<Value>, after: Option<Value>) {
        self.app.event_seq += 1;
        self.events.push(NewEvent { seq: self.app.event_seq, kind, subject: subject.to_owned(), before, after });
    }

    pub(crate) async fn release_name(&mut self, id: i64) -> Result<String> {
        if let Some(name) = self.release_names.get(&id) {
            return Ok(name.clone());
        }
        let name = releases::get(self.tx, id).await?.name;
        self.release_names.insert(id, name.clone());
        Ok(name)
    }

    /// Returns a uid that no version, label, app version or release of the app has ever had.
    pub(crate) async fn fresh_id(&mut self) -> Result<String> {
        for _ in 0..TRIES {
            let id = self.ids.short_id();
            if !apps::word_taken(self.tx, self.app.id, &id).await? {
                return Ok(id);
            }
        }
        Err(CatalogError::inconsistent("the source of ids gives only ids that are taken".to_owned()))
    }
}
