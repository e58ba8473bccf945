//! The PostgreSQL for tests is real, empty, and removed afterwards.

use std::path::Path;
use std::time::Duration;

use milepost_testkit::eventually;
use milepost_testkit::postgres::{Cluster, database};
use tokio_postgres::{Client, NoTls};

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::test]
async fn a_database_is_empty_and_dropped_after_use() {
    let test = database();
    let client = connect(&test.url).await.unwrap();
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(client.query_one(tables, &[]).await.unwrap().get::<_, i64>(0), 0);
    client.batch_execute("CREATE TABLE kept (id int)").await.unwrap();

    let url = test.url.clone();
    drop(test);
    assert!(connect(&url).await.is_err(), "the database should be gone");
}

#[test]
fn every_database_is_distinct() {
    assert_ne!(database().url, database().url);
}

#[tokio::test]
async fn sorts_text_by_language_rules() {
    let test = database();
    let client = connect(&test.url).await.unwrap();
    let first = client.query_one("SELECT min(x) FROM (VALUES ('B'), ('a')) AS t(x)", &[]).await.unwrap();
    assert_eq!(first.get::<_, &str>(0), "a");
}

#[tokio::test]
async fn a_killed_private_cluster_keeps_committed_data() {
    let mut cluster = Cluster::start_private(true);
    let test = cluster.database();
    let client = connect(&test.url).await.unwrap();
    client.batch_execute("CREATE TABLE kept (id int); INSERT INTO kept VALUES (7)").await.unwrap();

    cluster.kill9();
    eventually(Duration::from_secs(10), || async { client.is_closed() }).await;
    assert!(connect(&test.url).await.is_err(), "the server should be down");
    cluster.restart();

    let client = connect(&test.url).await.unwrap();
    assert_eq!(client.query_one("SELECT id FROM kept", &[]).await.unwrap().get::<_, i32>(0), 7);
    let data: String = client.query_one("SHOW data_directory", &[]).await.unwrap().get(0);
    drop(test);
    drop(cluster);
    assert!(!Path::new(&data).exists(), "{data} should be removed");
}
