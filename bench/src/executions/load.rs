//! Many clients that repeat one operation.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use milepost_catalog::Catalog;

use crate::serve::report::Spread;

/// How many times per second `clients` together complete `work`.
pub async fn rate<F, W>(clients: usize, length: Duration, work: F) -> Result<f64>
where
    F: Fn() -> W,
    W: Future<Output = Result<()>>,
{
    let started = Instant::now();
    let each = (0..clients).map(|_| async {
        let mut done = 0_u64;
        while started.elapsed() < length {
            work().await?;
            done += 1;
        }
        anyhow::Ok(done)
    });
    let done: u64 = try_join_all(each).await?.into_iter().sum();
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

/// The peer: what the database does without Milepost, one row per commit.
pub async fn plain(catalog: &Catalog, clients: usize, length: Duration) -> Result<f64> {
    rate(clients, length, || async { Ok(catalog.bench_commit().await?) }).await
}

/// The number of plain commits in the time of one of our operations.
pub fn ratio(ours: &[f64], plain: &[f64]) -> String {
    Spread::of(ours.iter().zip(plain).map(|(ours, plain)| plain / ours.max(f64::EPSILON))).tenths()
}
