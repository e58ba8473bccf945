//! What is true: apps, units, versions, app versions, releases, pointers, events, tokens and where bytes are, on
//! SQLite or PostgreSQL.
//!
//! This crate does not know HTTP, files or processes; it does not hold bytes of blobs and never sees a secret in the
//! clear. Everything that changes an app goes through [`Work`](work::Work): it locks the app's row first, gives events
//! their numbers, and is one transaction, so writes to one app follow each other and a crash leaves all of a change or
//! none of it.
//!
//! To add a table: a migration for each engine, one file in `tables/`, a case in `tests/conformance`.

#[cfg(feature = "bench")]
mod bench;
mod change;
mod db;
mod delete;
mod error;
mod ops;
mod read;
mod releasing;
mod resolve;
mod storage;
mod tables;
mod work;

use std::sync::Arc;

use milepost_model::{Clock, IdSource};

pub use change::{ChangeInput, SealedSecret};
pub use db::Heard;
pub use delete::VersionsToDelete;
pub use error::CatalogError;
pub use ops::alias::SetAlias;
pub use ops::live::Rollback;
pub use ops::live::{LiveTarget, RollbackInput};
pub use read::{App, AtMoment, Known, Page, PageOf};
pub use read::{Serving, ServingAlias, ServingFunction, ServingRelease, ServingVersion};
pub use storage::SweepReport;
pub use tables::blobs::{BlobRow, NewBlob};
pub use tables::tokens::TokenRow;

/// The one handle to what is true. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    db: db::Db,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl Catalog {
    /// Opens the database at `url` (`postgres://…`, or the path of a SQLite file) and brings its schema up to date.
    pub async fn open(url: &str, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Result<Self, CatalogError> {
        Ok(Self { db: db::Db::open(url).await?, clock, ids })
    }

    pub fn engine(&self) -> &'static str {
        self.db.engine_name()
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub fn ids(&self) -> &Arc<dyn IdSource> {
        &self.ids
    }

    /// Word of changes that other servers over the same database make.
    pub fn listen(&self) -> tokio::sync::mpsc::Receiver<Heard> {
        self.db.listen()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), CatalogError> {
        self.db
            .read(|tx| Box::pin(async { tx.count("SELECT count(*) FROM schema_migrations", &[]).await }))
            .await
            .map(drop)
    }
}
