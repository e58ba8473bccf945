//! Resolves a host and a path to a route, in an installation with one app and in one with 100,000.
//!
//! Runs in this process and without a connection, so that nothing hides the effect of the
//! installation's size. Covers everything that the gateway does for a request whose function
//! responds at once.

mod installation;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use futures::FutureExt;
use milepost_gateway::{Gateway, RequestBody, Settings};
use serde_json::json;

use self::installation::{AtOnce, Request, app, requests};
use super::machine;
use super::options::Options;
use super::process;
use super::report::{Report, Row, Spread, percentile, verdict};

const WHAT: &str = "a whole request in the gateway";
const APPS: usize = 100_000;
const RELEASES: usize = 10;
const FILES: usize = 10;
const DOMAIN: &str = "localhost";
const RESOLVES: usize = 500_000;
/// Requests timed together, to exclude the cost of reading the clock.
const BATCH: usize = 50;
/// The installations also take turns within a run: the same request takes 2.5 us in one second and
/// 4 in the next, depending on the load of the machine.
const TURNS: usize = 100;
const BAR: f64 = 1.5;

type Installation = Gateway<AtOnce>;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let small = installation(1)?;
    let before = process::resident_bytes()?;
    let large = installation(APPS)?;
    let per_app = process::resident_bytes()?.saturating_sub(before) / APPS as u64;
    // All apps equally often is the worst case: hardly anything of an app is in the CPU caches.
    let (one, all) = (requests(1), requests(APPS));
    let places = [
        ("1 app", &small, &one),
        ("100,000 apps, all equally often", &large, &all),
        ("100,000 apps, one of them only", &large, &one),
    ];
    let mut runs: [Vec<Times>; 3] = Default::default();
    for run in 1..=options.runs {
        report.saw(machine::wait_until_idle(options.wait)?);
        let mut asked = places.map(|(_, installation, requests)| Asked::new(installation, requests));
        for _ in 0..TURNS {
            for asked in &mut asked {
                asked.turn()?;
            }
        }
        for (asked, times) in asked.into_iter().zip(&mut runs) {
            times.push(asked.times());
        }
        let last = |at: usize| runs[at].last().map_or(0.0, |times: &Times| times.p50);
        eprintln!("{WHAT}, run {run}: {:.0} ns in 1 app, {:.0} in all, {:.0} in one of all", last(0), last(1), last(2));
    }
    for (at, ((name, _, _), times)) in places.iter().zip(&runs).enumerate() {
        let mut row = row(name, times);
        if at > 0 {
            let ratio = Spread::of(times.iter().zip(&runs[0]).map(|(large, small)| large.p50 / small.p50));
            row.against = format!("{} of 1 app", ratio.times());
            row.bar = verdict("at most 1.50x", ratio.median() <= BAR);
        }
        report.row(row);
        let numbers: Vec<[f64; 3]> = times.iter().map(|times| [times.mean, times.p50, times.p99]).collect();
        report.keep("resolve", WHAT, json!({ "installation": name, "meanP50P99InNs": numbers }));
    }
    report.note(format!(
        "An idle app of {RELEASES} releases, {FILES} files, 2 functions and 5 routes takes {per_app} bytes of memory."
    ));
    report.keep("resolve", "memory", json!({ "bytesPerIdleApp": per_app, "apps": APPS, "releases": RELEASES }));
    Ok(())
}

fn installation(apps: usize) -> Result<Installation> {
    let settings = Settings { domain: DOMAIN.to_owned(), ..Settings::default() };
    let gateway = Gateway::new(settings, Arc::new(AtOnce))?;
    for at in 0..apps {
        gateway.directory().publish(app(at));
    }
    Ok(gateway)
}

fn row(name: &str, times: &[Times]) -> Row {
    let spread = |figure: fn(&Times) -> f64| Spread::of(times.iter().map(figure)).text(|ns| format!("{:.3}", ns / 1e3));
    Row {
        what: WHAT.to_owned(),
        server: name.to_owned(),
        p50: spread(|times| times.p50),
        p99: spread(|times| times.p99),
        cpu: spread(|times| times.mean),
        ..Row::default()
    }
}

/// Nanoseconds per request. The percentiles are over batches.
#[derive(Default)]
struct Times {
    mean: f64,
    p50: f64,
    p99: f64,
}

/// An installation in one run.
struct Asked<'i> {
    installation: &'i Installation,
    requests: std::iter::Cycle<std::slice::Iter<'i, Request>>,
    batches: Vec<f64>,
}

impl<'i> Asked<'i> {
    fn new(installation: &'i Installation, requests: &'i [Request]) -> Self {
        Self { installation, requests: requests.iter().cycle(), batches: Vec::with_capacity(RESOLVES / BATCH) }
    }

    fn turn(&mut self) -> Result<()> {
        // Not timed: the caches are full of the others' data.
        for request in self.requests.by_ref().take(BATCH) {
            handle(self.installation, request)?;
        }
        for _ in 0..RESOLVES / BATCH / TURNS {
            let started = Instant::now();
            for request in self.requests.by_ref().take(BATCH) {
                handle(self.installation, request)?;
            }
            self.batches.push(started.elapsed().as_secs_f64() * 1e9 / BATCH as f64);
        }
        Ok(())
    }

    fn times(mut self) -> Times {
        let mean = self.batches.iter().sum::<f64>() / self.batches.len() as f64;
        self.batches.sort_by(f64::total_cmp);
        Times { mean, p50: percentile(&self.batches, 50.0), p99: percentile(&self.batches, 99.0) }
    }
}

fn handle(installation: &Installation, request: &Request) -> Result<()> {
    let head = http::Request::get(request.path).header("host", &request.host).body(RequestBody::empty())?;
    let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 50_000));
    let answer = installation.handle(head, peer).now_or_never().context("the answer is not there at once")?;
    if answer.status() != 200 {
        bail!("{}{} is answered {}", request.host, request.path, answer.status());
    }
    drop(black_box(answer));
    Ok(())
}
