//! Puts the same load on servers in turns (A, B, A, B), so that a slow minute of the machine
//! affects all of them.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::client::{self, Target};
use super::load::Wrk;
use super::machine::{self, Cores};
use super::options::Options;
use super::place::Place;
use super::process;
use super::report::{Report, Row, Spread, verdict};

/// One per core: more would take CPU time from the servers, and a single one cannot keep a server
/// busy.
const LOAD_THREADS: usize = 2;

/// What Milepost has to reach compared with a peer.
#[derive(Clone, Copy)]
pub struct Bar {
    pub throughput: f64,
    /// The 99th percentile must not be higher either.
    pub p99: bool,
}

pub struct Contender<'a> {
    pub name: &'a str,
    pub target: Target,
    pub pid: u32,
    pub bar: Option<Bar>,
}

pub struct Case<'a> {
    pub part: &'a str,
    pub what: &'a str,
    pub body: &'a [u8],
    pub connections: usize,
}

/// One run of one server.
struct Sample {
    per_second: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
    errors: u64,
    raw: Value,
}

/// The first contender is Milepost, unless only peers were requested.
pub fn compare(case: &Case<'_>, contenders: &[Contender<'_>], options: &Options, report: &mut Report) -> Result<()> {
    let mut samples: Vec<Vec<Sample>> = contenders.iter().map(|_| Vec::new()).collect();
    for contender in contenders {
        let answer = client::get(&contender.target)?;
        if answer.status != 200 || answer.body != case.body {
            bail!("{} answers {} and something else than it should", contender.name, answer.status);
        }
        load(case, contender, 1)?;
    }
    for run in 1..=options.runs {
        for (contender, samples) in contenders.iter().zip(&mut samples) {
            report.saw(machine::wait_until_idle(options.wait)?);
            let sample = load(case, contender, options.seconds)?;
            eprintln!(
                "{}, run {run}, {}: {:.0}/s, p99 {:.0} us, {:.1} us CPU a request; others had {:.2} cores",
                case.what,
                contender.name,
                sample.per_second,
                sample.p99,
                sample.cpu,
                sample.raw["otherCores"].as_f64().unwrap_or_default()
            );
            samples.push(sample);
        }
    }
    let ours = (!options.peers_only).then(|| &samples[0]);
    for (at, (contender, theirs)) in contenders.iter().zip(&samples).enumerate() {
        report.row(row(case, contender, theirs, ours.filter(|_| at > 0)));
        let raw: Vec<&Value> = theirs.iter().map(|sample| &sample.raw).collect();
        report.keep(case.part, case.what, json!({ "server": contender.name, "runs": raw }));
        let errors: u64 = theirs.iter().map(|sample| sample.errors).sum();
        if errors > 0 {
            report.note(format!("{}, {}: {errors} requests failed.", case.what, contender.name));
        }
    }
    Ok(())
}

fn load(case: &Case<'_>, contender: &Contender<'_>, seconds: u64) -> Result<Sample> {
    let script = Place::fixtures().join("report.lua");
    let wrk = Wrk { script: &script, threads: LOAD_THREADS, connections: case.connections };
    let (cores, server) = (Cores::now()?, process::ticks_of_tree(contender.pid)?);
    let load = wrk.run(&contender.target, seconds)?;
    let server = process::seconds(process::ticks_of_tree(contender.pid)?.saturating_sub(server));
    let after = Cores::now()?;
    let cpu = server * 1e6 / load.requests.max(1) as f64;
    let wall = load.microseconds as f64 / 1e6;
    let others = process::seconds(after.busy_since(&cores)) - server - load.own_seconds;
    Ok(Sample {
        per_second: load.per_second(),
        p50: load.p50 as f64,
        p99: load.p99 as f64,
        cpu,
        errors: load.errors(),
        raw: json!({
            "requests": load.requests,
            "seconds": wall,
            "perSecond": load.per_second(),
            "p50": load.p50,
            "p99": load.p99,
            "errors": load.errors(),
            "cpuPerRequest": cpu,
            // In cores: the shares of the server, the load generator and everything else on the
            // machine.
            "serverCores": server / wall,
            "loadCores": load.own_seconds / wall,
            "otherCores": others / wall,
        }),
    })
}

fn row(case: &Case<'_>, contender: &Contender<'_>, theirs: &[Sample], ours: Option<&Vec<Sample>>) -> Row {
    let spread = |figure: fn(&Sample) -> f64| Spread::of(theirs.iter().map(figure));
    let mut row = Row {
        what: case.what.to_owned(),
        server: contender.name.to_owned(),
        rate: spread(|sample| sample.per_second).whole(),
        p50: spread(|sample| sample.p50).whole(),
        p99: spread(|sample| sample.p99).whole(),
        cpu: spread(|sample| sample.cpu).tenths(),
        ..Row::default()
    };
    if let Some(ours) = ours {
        // Per run, because the two were measured right after each other.
        let ratio = |figure: fn(&Sample) -> f64| {
            Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| figure(ours) / figure(theirs).max(f64::EPSILON)))
        };
        let (throughput, p99, cpu) = (ratio(|s| s.per_second), ratio(|s| s.p99), ratio(|s| s.cpu));
        row.against = format!("{}, p99 {:.2}x, CPU {:.2}x", throughput.times(), p99.median(), cpu.median());
        if let Some(bar) = contender.bar {
            row.bar = verdict(&format!("at least {:.2}x", bar.throughput), throughput.median() >= bar.throughput);
            if bar.p99 {
                row.bar.push_str("; ");
                row.bar.push_str(&verdict("p99 at most 1.00x", p99.median() <= 1.0));
            }
        }
    }
    row
}
