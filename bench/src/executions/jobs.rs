//! The cost of the scheduler with many jobs of which few are due.

use std::time::Duration;

use anyhow::{Result, ensure};
use milepost_model::UnitKind;
use milepost_model::UnitName;
use milepost_model::clock::from_millis;

use super::options::Options;
use super::stage;
use crate::engine::Engine;
use crate::measure::{Runs, table, time};

const DUE: i64 = 100;
const BATCH: i64 = 200;
const ROUNDS: i64 = 9;
const MINUTE: i64 = 60_000;

pub async fn run(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for engine in Engine::all().await? {
        let catalog = &engine.catalog;
        let app = stage::app(catalog, "jobs").await?;
        let function = UnitName::for_kind(UnitKind::Function, stage::FUNCTION)?;
        let far = from_millis(catalog.now().as_millisecond() + 365 * 24 * 60 * MINUTE);
        let mut made = 0;
        for jobs in [ROUNDS * DUE, options.jobs] {
            catalog.bench_fill_jobs(&app, function.clone(), (made, jobs), far).await?;
            made = jobs;
            let (mut idle, mut firing, mut inserts) = (Runs::default(), Runs::default(), Runs::default());
            for round in 0..ROUNDS {
                // Each job is due once, and then not for a year.
                let first = jobs - (round + 1) * DUE;
                let now = catalog.now().as_millisecond();
                catalog.bench_due_jobs(first..first + DUE, from_millis(now - now % MINUTE)).await?;
                let (fired, took) = time(catalog.fire_due(BATCH)).await;
                let fired = fired?;
                ensure!(fired.rows == DUE as u64, "{fired:?}");
                firing.push(took);
                catalog.bench_due_jobs(first..first + DUE, far).await?;
                let (looked, took) = time(catalog.earliest_due()).await;
                looked?;
                idle.push(took);
                let (done, took) = time(plain(catalog)).await;
                done?;
                inserts.push(took);
            }
            rows.push(vec![
                engine.name.to_owned(),
                jobs.to_string(),
                micros(idle.median()),
                firing.text(),
                inserts.text(),
                format!("{:.2}x", firing.ratio(&inserts)),
            ]);
        }
    }
    table(
        "The scheduler: a look when nothing is due, and firing 100 jobs that are, in a table of so many",
        &["engine", "jobs", "a look", "firing 100", "100 plain commits", "against them"],
        &rows,
    );
    Ok(())
}

async fn plain(catalog: &milepost_catalog::Catalog) -> Result<()> {
    for _ in 0..DUE {
        catalog.bench_commit().await?;
    }
    Ok(())
}

fn micros(took: Duration) -> String {
    format!("{} us", took.as_micros())
}
