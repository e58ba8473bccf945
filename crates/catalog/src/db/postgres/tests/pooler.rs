use std::time::Duration;

use futures::future::join_all;
use milepost_testkit::pgbouncer::{PgBouncer, PoolMode};
use milepost_testkit::postgres::{TestDatabase, database as test_database};
use tokio::sync::mpsc::Receiver;

use super::*;
use crate::db::Heard;

async fn next(heard: &mut Receiver<Heard>) -> Heard {
    let heard = tokio::time::timeout(Duration::from_secs(20), heard.recv()).await;
    heard.expect("nothing was heard in time").expect("the listener lives")
}

async fn add_app(db: &Db, name: &'static str) {
    let sql = "INSERT INTO apps (name, plan, created_at, created_by, head_seq, event_seq, live_mode) \
               VALUES ($1, 'standard', $2, $3, 0, 1, 'following')";
    let params = [name.into(), 0_i64.into(), Val::from("test")];
    db.write(move |tx| {
        Box::pin(async move {
            tx.exactly_one(sql, &params).await?;
            tx.tell(name).await
        })
    })
    .await
    .expect("it is written");
}

fn through(mode: PoolMode) -> (TestDatabase, PgBouncer, String) {
    let database = test_database();
    let pooler = PgBouncer::start(&database.url, mode);
    let url = pooler.url(&database.url);
    (database, pooler, url)
}

fn shared(db: &Db) -> Option<bool> {
    match &*db.0 {
        crate::db::Driver::Postgres(postgres) => postgres.shared.get().copied(),
        crate::db::Driver::Sqlite(_) => None,
    }
}

/// Many transactions at once that use the same statements, on more clients than the pooler has
/// connections.
async fn churn(nodes: &[Db]) {
    let transactions = (0_i64..200).map(|number| {
        let db = nodes[number as usize % nodes.len()].clone();
        async move {
            db.write(move |tx| {
                Box::pin(async move {
                    let none: Option<&str> = None;
                    let sql = "SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BYTEA)";
                    let bytes = number.to_be_bytes().to_vec();
                    let row =
                        tx.query_one(sql, &[number.into(), "x".into(), none.into(), bytes.clone().into()]).await?;
                    let read = (row.int(0)?, row.text(1)?, row.opt_text(2)?, row.opt_bytes(3)?);
                    assert_eq!(read, (number, "x".to_owned(), None, Some(bytes)));
                    tx.count("SELECT count(*) FROM apps WHERE id > $1 AND name <> $2", &[number.into(), "".into()])
                        .await
                })
            })
            .await
        }
    });
    for outcome in join_all(transactions).await {
        outcome.expect("it is committed");
    }
}

#[tokio::test]
async fn a_pooler_that_shares_sessions_is_noticed_and_changes_are_polled_for() {
    let (direct, _pooler, url) = through(PoolMode::Transaction);
    let nodes = [database(&url).await, database(&url).await, database(&url).await];
    assert_eq!(nodes.each_ref().map(shared), [Some(true); 3]);
    churn(&nodes).await;
    let mut heard = nodes[0].listen();
    assert_eq!(next(&mut heard).await, Heard::Gap);
    add_app(&nodes[1], "shop").await;
    assert_eq!(next(&mut heard).await, Heard::Gap);

    let listening = Db::open(&url, Some(&direct.url), Arc::new(SystemClock)).await.expect("a database");
    let mut heard = listening.listen();
    assert_eq!(next(&mut heard).await, Heard::Gap);
    add_app(&nodes[1], "other").await;
    assert_eq!(next(&mut heard).await, Heard::App("other".parse().expect("a name")));
}

#[tokio::test]
async fn a_pooler_that_keeps_sessions_is_like_a_direct_connection() {
    let (_direct, _pooler, url) = through(PoolMode::Session);
    let node = database(&url).await;
    assert_eq!(shared(&node), Some(false));
    let mut heard = node.listen();
    assert_eq!(next(&mut heard).await, Heard::Gap);
    add_app(&node, "shop").await;
    assert_eq!(next(&mut heard).await, Heard::App("shop".parse().expect("a name")));
}

#[tokio::test]
async fn without_a_pooler_sessions_are_not_shared() {
    let direct = test_database();
    // Also while many nodes start at once.
    let nodes = join_all((0..8).map(|_| database(&direct.url))).await;
    assert!(nodes.iter().all(|node| shared(node) == Some(false)));
}

#[tokio::test]
async fn limits_of_a_transaction_do_not_reach_the_next_client() {
    let (_direct, _pooler, url) = through(PoolMode::Transaction);
    let node = database(&url).await;
    node.ping().await.expect("it answers");
    let session = Session::open(&Connector::new(Address::parse(&url).expect("a URL")).expect("TLS")).await;
    let shown = last_value(&session.expect("it accepts").client, "SHOW lock_timeout").await.expect("it answers");
    assert_eq!(shown, "0");
}
