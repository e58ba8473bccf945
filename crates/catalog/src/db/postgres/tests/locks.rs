use std::time::{Duration, Instant};

use milepost_testkit::partition::Partition;
use tokio::sync::oneshot;

use super::*;

#[tokio::test]
async fn a_node_lost_while_it_claims_delays_others_for_a_moment_only() {
    let direct = milepost_testkit::postgres::database();
    let (node, lost) = (database(&direct.url).await, Arc::new(open(&direct.url).expect("a URL")));
    let (held, is_held) = oneshot::channel();
    let claiming = tokio::spawn(async move {
        let waiting = lost.transaction(
            |tx| {
                Box::pin(async move {
                    tx.queue_briefly("milepost claim 1").await?;
                    let _ = held.send(());
                    std::future::pending::<Result<()>>().await
                })
            },
            Ending::Commit,
        );
        waiting.await
    });
    is_held.await.expect("it claims");
    let claim = |what: &'static str| node.write(move |tx| Box::pin(async move { tx.queue_briefly(what).await }));
    let began = Instant::now();
    assert!(matches!(claim("milepost claim 1").await, Err(CatalogError::Busy)));
    claim("milepost claim 2").await.expect("another app is free");
    assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
    claiming.abort();
    milepost_testkit::eventually(Duration::from_secs(30), async || claim("milepost claim 1").await.is_ok()).await;
}

/// Runs a transaction that locks the table and then waits without a statement, as a node does that
/// was stopped there.
async fn hold(postgres: Arc<Postgres>, held: oneshot::Sender<()>) -> Result<()> {
    let waiting = postgres.transaction(
        |tx| {
            Box::pin(async move {
                tx.batch("LOCK TABLE schema_migrations IN ACCESS EXCLUSIVE MODE").await?;
                let _ = held.send(());
                std::future::pending().await
            })
        },
        Ending::Commit,
    );
    waiting.await
}

#[tokio::test]
async fn slow_locks_of_a_node_that_is_cut_off_are_free_within_thirty_seconds() {
    let direct = milepost_testkit::postgres::database();
    let node = database(&direct.url).await;
    let host = Address::parse(&direct.url).expect("a URL").hosts[0].name.clone();
    let network = Partition::start(host.rsplit_once(':').expect("a port").1.parse().expect("a number"));
    let lost = Arc::new(open(&direct.url.replacen(&host, &format!("127.0.0.1:{}", network.port()), 1)).expect("a URL"));
    let (held, is_held) = oneshot::channel();
    let holding = tokio::spawn(hold(lost, held));
    is_held.await.expect("it locks");
    network.cut();
    let began = Instant::now();
    node.ping().await.expect("the lock is free again");
    let took = began.elapsed();
    assert!((5..30).contains(&took.as_secs()), "it took {took:?}");
    assert!(!holding.is_finished(), "the node that is cut off did not notice");
    holding.abort();
}
