//! Sustained changes per second, compared with plain one-row commits on the same database.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;

use crate::engine::{self, Engine};
use crate::measure::table;

const LENGTH: Duration = Duration::from_secs(4);
const ROUNDS: usize = 3;

pub async fn run() -> Result<()> {
    let mut rows = Vec::new();
    for engine in Engine::all().await? {
        for clients in [1_usize, 16] {
            let mut ours = Vec::new();
            let mut peers = Vec::new();
            for round in 0..ROUNDS {
                ours.push(changes(&engine, clients, round, true).await?);
                peers.push(commits(&engine, clients).await?);
            }
            rows.push(line(engine.name, clients, "an app each", &mut ours, &mut peers));
        }
        let (mut ours, mut peers) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            ours.push(changes(&engine, 16, round + 100, false).await?);
            peers.push(commits(&engine, 16).await?);
        }
        rows.push(line(engine.name, 16, "one app", &mut ours, &mut peers));
    }
    table(
        "Changes per second, each with a version, an app version, a release, an expiry and its events; durable",
        &["engine", "clients", "on", "changes/s", "plain commits/s", "commits per change"],
        &rows,
    );
    Ok(())
}

fn line(engine: &str, clients: usize, on: &str, ours: &mut [f64], peers: &mut [f64]) -> Vec<String> {
    ours.sort_by(f64::total_cmp);
    peers.sort_by(f64::total_cmp);
    let text = |rates: &[f64]| format!("{:.0} ({:.0}-{:.0})", rates[rates.len() / 2], rates[0], rates[rates.len() - 1]);
    let ratio = peers[peers.len() / 2] / ours[ours.len() / 2];
    vec![engine.to_owned(), clients.to_string(), on.to_owned(), text(ours), text(peers), format!("{ratio:.1}")]
}

async fn changes(engine: &Engine, clients: usize, round: usize, own_app: bool) -> Result<f64> {
    let mut apps = Vec::new();
    for client in 0..clients {
        let name = if own_app { format!("rate-{clients}-{round}-{client}") } else { format!("rate-one-{round}") };
        apps.push(if own_app || client == 0 { engine::app(&engine.catalog, &name).await? } else { name.parse()? });
    }
    let started = Instant::now();
    let work = apps.into_iter().enumerate().map(|(client, app)| async move {
        let mut done = 0_u64;
        while started.elapsed() < LENGTH {
            let put = engine::environment(client, done as usize + 1)?;
            engine.catalog.change(&app, engine::change(vec![put], true)).await?.unapplied();
            done += 1;
        }
        anyhow::Ok(done)
    });
    let done: u64 = try_join_all(work).await?.into_iter().sum();
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

/// The peer: what the database does without Milepost, one row per commit.
async fn commits(engine: &Engine, clients: usize) -> Result<f64> {
    let started = Instant::now();
    let work = (0..clients).map(|_| async {
        let mut done = 0_u64;
        while started.elapsed() < LENGTH / 2 {
            engine.catalog.bench_commit().await?;
            done += 1;
        }
        anyhow::Ok(done)
    });
    let done: u64 = try_join_all(work).await?.into_iter().sum();
    Ok(done as f64 / started.elapsed().as_secs_f64())
}
