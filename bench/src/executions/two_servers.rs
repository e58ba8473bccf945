//! Two servers on one PostgreSQL with a thousand timers of one second each: every tick must fire
//! once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use milepost_catalog::Catalog;
use milepost_model::{OsIds, SystemClock};
use milepost_testkit::postgres::Cluster;

use super::options::Options;
use super::stage;
use crate::measure::table;
use crate::serve::milepost::Milepost;
use crate::serve::place::Place;

pub async fn run(options: &Options) -> Result<()> {
    let seconds = options.seconds.unwrap_or(60);
    let place = Place::new()?;
    let cluster = tokio::task::spawn_blocking(|| Cluster::start_private(true)).await?;
    let url = cluster.url();
    // One execution at a time each: only firing is measured, and most of the executions stay
    // queued.
    let args = ["--database", url.as_str(), "--executions", "1"];
    let first = Milepost::start(&place, "first", &args)?;
    let data = place.folder("second")?.join("data");
    fs::create_dir_all(&data)?;
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
    for file in ["secret.key", "admin.token"] {
        fs::copy(first.data().join(file), data.join(file))?;
    }
    let blobs = first.data().join("blobs").display().to_string();
    let second = Milepost::serve(&place, "second", &[&args[..], &["--blobs", &blobs]].concat())?;
    let timers: String = (0..options.timers)
        .map(|number| format!("  t{number}: {{ cron: \"@every 1s\", function: {} }}\n", stage::FUNCTION))
        .collect();
    stage::deploy(&place, &first, "app-timers", &format!("timers:\n{timers}"))?;
    let catalog = Catalog::open(&url, Arc::new(SystemClock), Arc::new(OsIds)).await?;
    tokio::time::sleep(Duration::from_secs(seconds + 2)).await;
    // Both servers stop before counting, and finish their current work.
    drop((first, second));
    report(&catalog, options.timers as i64, seconds as i64).await
}

async fn report(catalog: &Catalog, timers: i64, seconds: i64) -> Result<()> {
    let number = async |sql: String| -> Result<i64> { Ok(catalog.bench_number(sql).await?) };
    let of_timers = "FROM executions WHERE cause = 'timer'";
    // Only whole seconds: the first and the last may be incomplete.
    let first = number(format!("SELECT min(scheduled_at) {of_timers}")).await? + 1000;
    let last = first + (seconds - 1) * 1000;
    let within = format!("{of_timers} AND scheduled_at BETWEEN {first} AND {last}");
    let executions = number(format!("SELECT count(*) {within}")).await?;
    let ticks = number(format!("SELECT count(*) FROM (SELECT DISTINCT cause_id, scheduled_at {within}) AS t")).await?;
    let complete = number(format!(
        "SELECT count(*) FROM (SELECT cause_id {within} GROUP BY cause_id HAVING count(*) = {seconds}) AS t"
    ))
    .await?;
    let late = format!("SELECT max(created_at - scheduled_at) {within}");
    let half = format!(
        "SELECT CAST(percentile_cont(0.5) WITHIN GROUP (ORDER BY created_at - scheduled_at) AS BIGINT) {within}"
    );
    let servers = number(format!("SELECT count(DISTINCT node) {of_timers} AND node IS NOT NULL")).await?;
    let (late, half) = (number(late).await?, number(half).await?);
    table(
        "Two servers over one PostgreSQL, timers of a second each",
        &[
            "timers",
            "seconds",
            "expected",
            "executions",
            "different ticks",
            "timers with each tick",
            "late, p50",
            "late, most",
        ],
        &[vec![
            timers.to_string(),
            seconds.to_string(),
            (timers * seconds).to_string(),
            executions.to_string(),
            ticks.to_string(),
            complete.to_string(),
            format!("{half} ms"),
            format!("{late} ms"),
        ]],
    );
    println!("\n{servers} servers ran executions of them.");
    ensure!(
        executions == timers * seconds && ticks == executions && complete == timers,
        "a tick is missing or was fired twice"
    );
    Ok(())
}
