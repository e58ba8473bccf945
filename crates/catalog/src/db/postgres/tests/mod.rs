//! Against real servers: with TLS, with several hosts, through a pooler, and cut off.

mod hosts;
mod locks;
mod pooler;
mod tls;

use std::sync::Arc;

use milepost_model::SystemClock;

use super::*;
use crate::db::Db;

fn open(url: &str) -> Result<Postgres> {
    Postgres::open(url, None, Arc::new(SystemClock))
}

/// Runs a query that returns one number.
async fn number(postgres: &Postgres, sql: &'static str) -> Result<i64> {
    postgres
        .transaction(move |tx| Box::pin(async move { tx.query_one(sql, &[]).await?.int(0) }), Ending::ReadOnly)
        .await
}

/// An error with its causes, as it is logged.
fn whole(error: &CatalogError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}

async fn database(url: &str) -> Db {
    Db::open(url, None, Arc::new(SystemClock)).await.expect("a database")
}
