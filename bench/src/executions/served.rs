//! Executions on a real server over HTTP: accepted until the server is killed, run to their end,
//! and one at a time on an idle server.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use milepost_catalog::Catalog;
use milepost_client::Client;
use milepost_model::execution::{ExecutionFilter, ExecutionStatus, NewExecution};
use milepost_model::{OsIds, SystemClock};
use milepost_testkit::postgres::{Cluster, TestDatabase};

use super::options::Options;
use super::{load, stage};
use crate::measure::{Runs, table, time};
use crate::serve::milepost::{APP, Milepost};
use crate::serve::place::Place;
use crate::serve::report::{Spread, percentile};

const CLIENTS: usize = 16;
const POLL: Duration = Duration::from_millis(20);

/// A new database, and the directory of its server.
struct Database {
    name: &'static str,
    folder: PathBuf,
    /// `None` for the SQLite file in the directory.
    postgres: Option<TestDatabase>,
}

impl Database {
    fn new(place: &Place, name: &'static str, part: &str, cluster: Option<&Cluster>) -> Result<Self> {
        let folder = place.folder(&format!("{part}-{name}"))?;
        Ok(Self { name, folder, postgres: cluster.map(Cluster::database) })
    }

    /// Starts a server that runs up to `at_once` executions, the first time with the function.
    fn serve(&self, place: &Place, at_once: &str, first: bool) -> Result<Milepost> {
        let mut args = vec!["--executions", at_once];
        if let Some(database) = &self.postgres {
            args.extend(["--database", database.url.as_str()]);
        }
        let folder = self.folder.file_name().and_then(OsStr::to_str).context("a folder without a name")?;
        if !first {
            return Milepost::serve(place, folder, &args);
        }
        let milepost = Milepost::start(place, folder, &args)?;
        stage::deploy(place, &milepost, &format!("{folder}-app"), "")?;
        Ok(milepost)
    }

    /// Opens the catalog. Only while no server is running.
    async fn open(&self) -> Result<Catalog> {
        let url = match &self.postgres {
            Some(database) => database.url.clone(),
            None => self.folder.join("data/catalog.db").display().to_string(),
        };
        Ok(Catalog::open(&url, Arc::new(SystemClock), Arc::new(OsIds)).await?)
    }
}

pub async fn run(options: &Options) -> Result<()> {
    let place = Place::new()?;
    let (mut accepted, mut ended, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for name in ["SQLite", "PostgreSQL"] {
        let cluster = match name {
            "SQLite" => None,
            _ => Some(tokio::task::spawn_blocking(|| Cluster::start_private(true)).await?),
        };
        let database = |part: &str| Database::new(&place, name, part, cluster.as_ref());
        if options.wants("served") {
            accepted.push(until_killed(&place, &database("killed")?, options).await?);
            ended.push(to_the_end(&place, &database("ended")?, options).await?);
        }
        if options.wants("idle") {
            idle.push(when_idle(&place, &database("idle")?, options).await?);
        }
    }
    if options.wants("served") {
        table(
            "Async executions accepted per second over HTTP, 16 clients, until the server is killed with SIGKILL",
            &["engine", "accepted/s", "plain commits/s", "commits per acceptance", "acknowledged", "found after it"],
            &accepted,
        );
        table(
            "Executions of a Python function that does nothing, from the first request to the last end",
            &["engine", "executions", "ended/s", "plain commits/s", "commits per execution"],
            &ended,
        );
    }
    if options.wants("idle") {
        table(
            "One execution at a time on an idle server: from its acceptance to its start, to the millisecond",
            &["engine", "executions", "p50", "p99", "the request itself, p50", "a plain commit, p50", "p99"],
            &idle,
        );
    }
    Ok(())
}

/// Clients send until the killed server stops responding. Then everything acknowledged must be in
/// the database.
async fn until_killed(place: &Place, database: &Database, options: &Options) -> Result<Vec<String>> {
    let (mut ours, mut plain, mut acknowledged, mut found) = (Vec::new(), Vec::new(), 0, 0);
    for run in 0..options.runs {
        let mut milepost = database.serve(place, "0", run == 0)?;
        let client = stage::client(&milepost)?;
        let ids = Mutex::new(Vec::new());
        let started = Instant::now();
        let sending = (0..CLIENTS).map(|_| async {
            let new = stage::new()?;
            // An error means that the server was killed.
            while let Ok(execution) = client.execution_create(APP, &new).await {
                if let Ok(mut ids) = ids.lock() {
                    ids.push(execution.id);
                }
            }
            anyhow::Ok(())
        });
        let killing = async {
            tokio::time::sleep(options.length()).await;
            let (took, count) = (started.elapsed(), ids.lock().map(|ids| ids.len()).unwrap_or_default());
            milepost.server.kill()?;
            anyhow::Ok(count as f64 / took.as_secs_f64())
        };
        let (sent, rate) = tokio::join!(try_join_all(sending), killing);
        sent?;
        ours.push(rate?);
        let ids = ids.into_inner().unwrap_or_default();
        let catalog = database.open().await?;
        acknowledged += ids.len();
        found += catalog.bench_executions(ids).await?;
        plain.push(load::plain(&catalog, CLIENTS, options.length() / 2).await?);
    }
    ensure!(acknowledged as i64 == found, "{acknowledged} were acknowledged, and {found} are there");
    Ok(vec![
        database.name.to_owned(),
        Spread::of(ours.iter().copied()).whole(),
        Spread::of(plain.iter().copied()).whole(),
        load::ratio(&ours, &plain),
        acknowledged.to_string(),
        found.to_string(),
    ])
}

async fn to_the_end(place: &Place, database: &Database, options: &Options) -> Result<Vec<String>> {
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for run in 0..options.runs {
        let milepost = database.serve(place, "32", run == 0)?;
        let client = stage::client(&milepost)?;
        warm(&client).await?;
        let each = options.count / CLIENTS;
        let started = Instant::now();
        try_join_all((0..CLIENTS).map(|_| async {
            let new = stage::new()?;
            for _ in 0..each {
                client.execution_create(APP, &new).await?;
            }
            anyhow::Ok(())
        }))
        .await?;
        while open(&client).await? {
            tokio::time::sleep(POLL).await;
        }
        ours.push((each * CLIENTS) as f64 / started.elapsed().as_secs_f64());
        let failed = ExecutionFilter { status: Some(ExecutionStatus::Failed), ..ExecutionFilter::default() };
        ensure!(client.execution_list(APP, &failed, 1, None).await?.items.is_empty(), "an execution failed");
        drop(milepost);
        plain.push(load::plain(&database.open().await?, CLIENTS, options.length() / 2).await?);
    }
    Ok(vec![
        database.name.to_owned(),
        (options.count / CLIENTS * CLIENTS).to_string(),
        Spread::of(ours.iter().copied()).whole(),
        Spread::of(plain.iter().copied()).whole(),
        load::ratio(&ours, &plain),
    ])
}

async fn when_idle(place: &Place, database: &Database, options: &Options) -> Result<Vec<String>> {
    let milepost = database.serve(place, "32", true)?;
    let client = stage::client(&milepost)?;
    warm(&client).await?;
    let (mut waits, mut requests) = (Vec::new(), Runs::default());
    for _ in 0..options.idle {
        let (accepted, took) = time(client.execution_create(APP, &stage::new()?)).await;
        requests.push(took);
        let id = accepted?.id;
        let ended = loop {
            tokio::time::sleep(POLL).await;
            let execution = client.execution_get(APP, &id).await?;
            if execution.status.is_ended() {
                break execution;
            }
        };
        let began = ended.started_at.context("an execution that ended was never started")?;
        waits.push((began.as_millisecond() - ended.created_at.as_millisecond()) as f64);
    }
    drop(milepost);
    waits.sort_by(f64::total_cmp);
    let catalog = database.open().await?;
    let mut commits = Runs::default();
    for _ in 0..options.idle {
        let (done, took) = time(catalog.bench_commit()).await;
        done?;
        commits.push(took);
        tokio::time::sleep(POLL / 4).await;
    }
    let ms = |took: Duration| format!("{:.2} ms", took.as_secs_f64() * 1000.0);
    Ok(vec![
        database.name.to_owned(),
        options.idle.to_string(),
        format!("{:.0} ms", percentile(&waits, 50.0)),
        format!("{:.0} ms", percentile(&waits, 99.0)),
        ms(requests.median()),
        ms(commits.median()),
        ms(commits.percentile(99)),
    ])
}

/// Warms up an instance, and possibly a second one.
async fn warm(client: &Client) -> Result<()> {
    for _ in 0..4 {
        let new = NewExecution { sync: true, ..stage::new()? };
        let ended = client.execution_create(APP, &new).await?;
        ensure!(ended.status == ExecutionStatus::Success, "{ended:?}");
    }
    Ok(())
}

async fn open(client: &Client) -> Result<bool> {
    for status in [ExecutionStatus::Queued, ExecutionStatus::Running] {
        let filter = ExecutionFilter { status: Some(status), ..ExecutionFilter::default() };
        if !client.execution_list(APP, &filter, 1, None).await?.items.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
