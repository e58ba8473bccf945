//! How soon a move of live takes effect: from the response to the move to the end of the next
//! response, which must come from the new release. Measured on an idle server and under load.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use milepost_client::Client;
use milepost_client::api::SetLive;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::client::{Connection, Target};
use super::load::{Load, Wrk};
use super::machine;
use super::milepost::{APP, Milepost};
use super::options::Options;
use super::place::Place;
use super::report::{Report, Row, Spread, percentile};

const MANIFEST: &str = "functions:\n  f: { env: python, src: f/, scale: { min: 1 } }\nstatic:\n  - { src: site, path: /site }\nroutes:\n  - GET /: f\n";
/// What is requested after a move and by the load.
const PATHS: [(&str, &str); 2] = [("file", "/site/x.txt"), ("function", "/")];
const WORDS: [&str; 2] = ["one", "two"];
const CONNECTIONS: usize = 16;
const LOAD_THREADS: usize = 2;
/// Moves that are not counted, while instances start and connections are opened.
const WARM_UP: usize = 20;
/// How long the load takes to open all its connections.
const RAMP: Duration = Duration::from_millis(300);

/// One run. Times are in microseconds.
struct Sample {
    moves: usize,
    p50: f64,
    p99: f64,
    most: f64,
    /// Median duration of the API call that moves live.
    call: f64,
    load: Option<Load>,
}

/// A server with two releases, and the state of the moves between them.
struct Stage {
    milepost: Milepost,
    client: Client,
    releases: [String; 2],
    moved: usize,
}

pub fn run(place: &Place, options: &Options, report: &mut Report) -> Result<()> {
    if options.peers_only {
        return Ok(());
    }
    let mut stage = Stage::new(place)?;
    for (kind, path) in PATHS {
        let mut samples = [Vec::new(), Vec::new()];
        for run in 1..=options.runs {
            for (loaded, samples) in [false, true].into_iter().zip(&mut samples) {
                report.saw(machine::wait_until_idle(options.wait)?);
                let sample = stage.sample(path, loaded, Duration::from_secs(options.seconds))?;
                eprintln!(
                    "moves of live, {kind}, run {run}, {}: {} moves, first new answer after {:.0} us (p50), {:.0} us at most",
                    if loaded { "beside load" } else { "idle" },
                    sample.moves,
                    sample.p50,
                    sample.most
                );
                samples.push(sample);
            }
        }
        for (loaded, samples) in [false, true].into_iter().zip(&samples) {
            tell(kind, loaded, samples, report);
        }
    }
    Ok(())
}

impl Stage {
    fn new(place: &Place) -> Result<Self> {
        let mut milepost = Milepost::start(place, "milepost-moves", &[])?;
        let app = place.folder("moves-app")?;
        let mut releases = [String::new(), String::new()];
        for (word, release) in WORDS.into_iter().zip(&mut releases) {
            write(&app, word)?;
            let said = milepost.output(&["deploy", app.to_str().context("not UTF-8")?, "-o", "json"])?;
            let said: Value = serde_json::from_str(&said).context("`deploy` did not print JSON")?;
            *release = said["release"]["id"].as_str().context("`deploy` made no release")?.to_owned();
        }
        for (_, path) in PATHS {
            milepost.wait_for(path, WORDS[1].as_bytes())?;
        }
        let client = milepost.client()?;
        let mut stage = Self { milepost, client, releases, moved: 0 };
        for (_, path) in PATHS {
            let target = stage.milepost.target(path);
            let mut connection = Connection::open(target.address)?;
            for _ in 0..WARM_UP {
                stage.move_and_ask(&mut connection, &target)?;
            }
        }
        Ok(stage)
    }

    /// Returns the duration of the next response after the move, and of the move itself.
    fn move_and_ask(&mut self, connection: &mut Connection, target: &Target) -> Result<(Duration, Duration)> {
        let to = self.moved % 2;
        self.moved += 1;
        let order = SetLive {
            release: Some(self.releases[to].clone()),
            follow: false,
            force: false,
            why: "a measurement".to_owned(),
        };
        let begun = Instant::now();
        Handle::current().block_on(self.client.live_set(APP, &order))?;
        let moved = Instant::now();
        let answer = connection.get(target)?;
        let took = moved.elapsed();
        ensure!(
            answer.status == 200 && answer.body == WORDS[to].as_bytes(),
            "the request after the move to `{}` was answered {}: {}",
            WORDS[to],
            answer.status,
            String::from_utf8_lossy(&answer.body)
        );
        Ok((took, moved - begun))
    }

    fn sample(&mut self, path: &str, loaded: bool, length: Duration) -> Result<Sample> {
        let target = self.milepost.target(path);
        let mut connection = Connection::open(target.address)?;
        let (mut seen, mut calls) = (Vec::new(), Vec::new());
        let script = Place::fixtures().join("report.lua");
        let load = std::thread::scope(|scope| {
            let load = loaded.then(|| {
                let wrk = Wrk { script: &script, threads: LOAD_THREADS, connections: CONNECTIONS };
                let target = target.clone();
                scope.spawn(move || wrk.run(&target, length.as_secs().max(1)))
            });
            if load.is_some() {
                std::thread::sleep(RAMP);
            }
            let started = Instant::now();
            loop {
                let (took, call) = self.move_and_ask(&mut connection, &target)?;
                let over = match &load {
                    Some(load) => load.is_finished(),
                    None => started.elapsed() >= length,
                };
                if over {
                    break;
                }
                seen.push(took.as_secs_f64() * 1e6);
                calls.push(call.as_secs_f64() * 1e6);
            }
            match load.map(std::thread::ScopedJoinHandle::join) {
                None => Ok(None),
                Some(Ok(load)) => load.map(Some),
                Some(Err(_)) => bail!("the load panicked"),
            }
        })?;
        ensure!(!seen.is_empty(), "no move fitted into {} s", length.as_secs());
        seen.sort_by(f64::total_cmp);
        calls.sort_by(f64::total_cmp);
        Ok(Sample {
            moves: seen.len(),
            p50: percentile(&seen, 50.0),
            p99: percentile(&seen, 99.0),
            most: percentile(&seen, 100.0),
            call: percentile(&calls, 50.0),
            load,
        })
    }
}

/// Writes an app whose parts all respond with the word.
fn write(app: &Path, word: &str) -> Result<()> {
    fs::create_dir_all(app.join("f"))?;
    fs::create_dir_all(app.join("site"))?;
    fs::write(app.join("milepost.yaml"), format!("app: {APP}\n{MANIFEST}"))?;
    fs::write(app.join("f/main.py"), format!("def main():\n    return '{word}'\n"))?;
    fs::write(app.join("site/x.txt"), word)?;
    Ok(())
}

fn tell(kind: &str, loaded: bool, samples: &[Sample], report: &mut Report) {
    let spread = |figure: fn(&Sample) -> f64| Spread::of(samples.iter().map(figure));
    let moves: usize = samples.iter().map(|sample| sample.moves).sum();
    let rate = |load: &Load| load.per_second();
    let beside = Spread::of(samples.iter().filter_map(|sample| sample.load.as_ref()).map(rate));
    let what = if loaded {
        format!("move of live until its first new answer, {kind}, beside load")
    } else {
        format!("move of live until its first new answer, {kind}")
    };
    report.row(Row {
        what: what.clone(),
        server: "milepost".to_owned(),
        rate: if loaded { beside.whole() } else { String::new() },
        p50: spread(|sample| sample.p50).whole(),
        p99: spread(|sample| sample.p99).whole(),
        against: format!(
            "{moves} moves, {:.0} us at most; the move itself {} us",
            spread(|sample| sample.most).high(),
            spread(|sample| sample.call).whole()
        ),
        bar: "stated".to_owned(),
        ..Row::default()
    });
    let failed: u64 = samples.iter().filter_map(|sample| sample.load.as_ref()).map(Load::errors).sum();
    if failed > 0 {
        report.note(format!("{what}: {failed} requests of the load failed."));
    }
    let runs: Vec<Value> = samples.iter().map(raw).collect();
    report.keep("move", &what, json!({ "connectionsOfTheLoad": CONNECTIONS, "runs": runs }));
}

fn raw(sample: &Sample) -> Value {
    let load = sample.load.as_ref();
    json!({
        "moves": sample.moves, "p50": sample.p50, "p99": sample.p99, "max": sample.most, "callP50": sample.call,
        "loadPerSecond": load.map(Load::per_second), "loadFailed": load.map(Load::errors),
    })
}
