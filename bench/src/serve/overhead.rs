//! The gateway's overhead per call: one connection through it, compared with the same worker called
//! over its socket, and through a process that only relays bytes. Everything is measured on one
//! core and as placed by the scheduler.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::client::Connection;
use super::functions::HELLO;
use super::machine;
use super::milepost::{Function, Milepost};
use super::options::Options;
use super::pinning::Placement;
use super::place::Place;
use super::process;
use super::report::{Report, Row, Spread, percentile, verdict};
use super::worker::{self, Way, Worker};

const CALLS: usize = 5_000;
const WARM_UP: usize = 500;
/// The maximum overhead at the median.
const BAR_MICROSECONDS: f64 = 100.0;
const SCALE: [&str; 6] = ["--min", "1", "--max", "1", "--concurrency", "1"];

pub fn run(place: &Place, options: &Options, report: &mut Report) -> Result<()> {
    let python = place.copy_of("python")?;
    let node = place.copy_of("node")?;
    let languages = [
        ("python", "python", worker::python as fn() -> Result<Command>, python.join("hello.py"), "hello.main"),
        ("node", "nodejs", worker::node, node.join("hello.js"), "hello"),
    ];
    for (language, environment, line, code, entrypoint) in languages {
        let mut workers = Vec::new();
        for (way, line) in [(Way::OverItsSocket, line()?), (Way::ThroughRelay, line()?)] {
            // The worker sees only the handler, as in the sandbox.
            let folder = place.folder(&format!("worker-{language}-{}", workers.len()))?;
            let alone = place.folder(&format!("worker-{language}-{}/app", workers.len()))?;
            std::fs::copy(&code, alone.join(code.file_name().unwrap_or_default()))?;
            workers.push(Worker::start(line, way, &folder, &alone, entrypoint)?);
        }
        let function = Function { name: "hello", environment, code, entrypoint, scale: &SCALE };
        measure(place, language, &function, &mut workers, options, report)?;
    }
    Ok(())
}

fn measure(
    place: &Place,
    language: &str,
    function: &Function<'_>,
    workers: &mut [Worker],
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let mut gateway = None;
    if !options.peers_only {
        let mut milepost = Milepost::start(place, &format!("milepost-overhead-{language}"), &[])?;
        milepost.function(function, "/")?;
        milepost.wait_for("/", HELLO)?;
        let target = milepost.target("/");
        gateway = Some((Connection::open(target.address)?, target, milepost));
    }
    let mut runs = Placement::ALL.map(|placement| (placement, Runs::default()));
    for run in 1..=options.runs {
        for (placement, runs) in &mut runs {
            if let Some((connection, target, milepost)) = &mut gateway {
                report.saw(machine::wait_until_idle(options.wait)?);
                placement.put(&[milepost.server.pid()])?;
                runs.ours.push(calls(&[milepost.server.pid()], || {
                    let answer = connection.get(target)?;
                    if answer.status != 200 || answer.body != HELLO {
                        bail!("the gateway answers {} and something else than it should", answer.status);
                    }
                    Ok(answer.took)
                })?);
            }
            for (worker, runs) in workers.iter_mut().zip([&mut runs.direct, &mut runs.relayed]) {
                report.saw(machine::wait_until_idle(options.wait)?);
                let processes = worker.pids();
                placement.put(&processes)?;
                runs.push(calls(&processes, || {
                    let (took, body) = worker.call()?;
                    if body != HELLO {
                        bail!("the worker answers something else than it should");
                    }
                    Ok(took)
                })?);
            }
            let p50 = |of: &[Calls]| of.last().map_or(0.0, |run| run.p50);
            eprintln!(
                "{language} hello, {}, run {run}: {:.0} us through the gateway, {:.0} us through a relay, {:.0} us directly",
                placement.text(),
                p50(&runs.ours),
                p50(&runs.relayed),
                p50(&runs.direct)
            );
        }
    }
    // Later measurements must not be bound to a core.
    Placement::Scheduler.put(&[])?;
    for (placement, runs) in &runs {
        tell(&format!("one connection, {language} hello, {}", placement.text()), runs, report);
    }
    Ok(())
}

fn tell(what: &str, runs: &Runs, report: &mut Report) {
    let Runs { ours, relayed, direct } = runs;
    let added =
        |more: &[Calls], less: &[Calls]| Spread::of(more.iter().zip(less).map(|(more, less)| more.p50 - less.p50));
    let mut peer = row(what, "the worker over its socket", direct);
    let mut relay = row(what, "the worker through a relay of bytes", relayed);
    if !ours.is_empty() {
        report.row(row(what, "milepost", ours));
        let to_direct = added(ours, direct);
        peer.against = format!("{} us added at p50", to_direct.whole());
        peer.bar = verdict("at most 100 us", to_direct.median() <= BAR_MICROSECONDS);
        relay.against = format!("{} us added at p50", added(ours, relayed).whole());
    }
    relay.bar = format!("none; it adds {} us itself", added(relayed, direct).whole());
    report.row(peer);
    report.row(relay);
    report.keep("overhead", what, json!({ "calls": CALLS, "gateway": ours, "relay": relayed, "worker": direct }));
}

/// The runs of one placement.
#[derive(Default)]
struct Runs {
    ours: Vec<Calls>,
    relayed: Vec<Calls>,
    direct: Vec<Calls>,
}

/// Sequential calls. Times are in microseconds.
#[derive(Serialize)]
struct Calls {
    p50: f64,
    p99: f64,
    per_second: f64,
    cpu_per_call: f64,
}

fn calls(processes: &[u32], mut call: impl FnMut() -> Result<Duration>) -> Result<Calls> {
    for _ in 0..WARM_UP {
        call()?;
    }
    let mut took = Vec::with_capacity(CALLS);
    let (started, before) = (Instant::now(), ticks(processes)?);
    for _ in 0..CALLS {
        took.push(call()?.as_secs_f64() * 1e6);
    }
    let (wall, ticks) = (started.elapsed(), ticks(processes)?.saturating_sub(before));
    took.sort_by(f64::total_cmp);
    Ok(Calls {
        p50: percentile(&took, 50.0),
        p99: percentile(&took, 99.0),
        per_second: CALLS as f64 / wall.as_secs_f64(),
        cpu_per_call: process::seconds(ticks) * 1e6 / CALLS as f64,
    })
}

fn ticks(processes: &[u32]) -> Result<u64> {
    processes.iter().map(|process| process::ticks_of_tree(*process)).sum()
}

fn row(what: &str, server: &str, runs: &[Calls]) -> Row {
    let spread = |figure: fn(&Calls) -> f64| Spread::of(runs.iter().map(figure));
    Row {
        what: what.to_owned(),
        server: server.to_owned(),
        rate: spread(|run| run.per_second).whole(),
        p50: spread(|run| run.p50).whole(),
        p99: spread(|run| run.p99).whole(),
        cpu: spread(|run| run.cpu_per_call).tenths(),
        ..Row::default()
    }
}
