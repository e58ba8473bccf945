//! The first request to a version that never ran, compared with starting the interpreter with the
//! same handler.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::client::Connection;
use super::functions::HELLO;
use super::machine;
use super::milepost::{self, Function, Milepost};
use super::options::Options;
use super::place::{self, Place};
use super::report::{Report, Row, Spread, percentile, verdict};

/// First requests per run.
const STARTS: usize = 20;
/// Between two starts, so that a spare can be replaced and earlier instances are gone.
const PAUSE: Duration = Duration::from_millis(500);
const SCALE: [&str; 8] = ["--min", "0", "--max", "1", "--concurrency", "1", "--idle", "1s"];
const WITHOUT_SPARES: [&str; 2] = ["--spares", "0"];

struct Language<'a> {
    name: &'a str,
    environment: &'a str,
    interpreter: PathBuf,
    /// Prints the handler's result.
    starter: &'a str,
    handler: &'a str,
    entrypoint: &'a str,
    comment: &'a str,
    bar_ms: f64,
}

pub fn run(place: &Place, options: &Options, report: &mut Report) -> Result<()> {
    let languages = [
        Language {
            name: "python",
            environment: "python",
            interpreter: place::program("python3")?,
            starter: "start.py",
            handler: "hello.py",
            entrypoint: "hello.main",
            comment: "#",
            bar_ms: 12.0,
        },
        Language {
            name: "node",
            environment: "nodejs",
            interpreter: place::program("node")?,
            starter: "start.js",
            handler: "hello.js",
            entrypoint: "hello",
            comment: "//",
            bar_ms: 25.0,
        },
    ];
    for language in &languages {
        measure(place, language, options, report)?;
    }
    Ok(())
}

fn measure(place: &Place, language: &Language<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let code = place.copy_of(language.name)?;
    let what = format!("cold start, {}", language.name);
    let mut servers = Vec::new();
    if !options.peers_only {
        let start = |name: &str, args: &[&str]| {
            let name = format!("milepost-cold-{}-{name}", language.name);
            Fresh::start(place, &name, args, language, &code, options.runs)
        };
        servers.push(start("spare", &[])?);
        if milepost::serve_knows(place, WITHOUT_SPARES[0])? {
            servers.push(start("no-spare", &WITHOUT_SPARES)?);
        } else {
            report.note(format!("{what}: `milepost serve` has no option to keep no spares; that figure is missing."));
        }
    }
    let mut runs: [Vec<(f64, f64)>; 3] = Default::default();
    for run in 1..=options.runs {
        for (server, figures) in servers.iter_mut().zip(&mut runs[1..]) {
            report.saw(machine::wait_until_idle(options.wait)?);
            // The other measurements take longer than an idle connection is kept open.
            server.connect()?;
            figures.push(milliseconds(|| {
                std::thread::sleep(PAUSE);
                server.first_request()
            })?);
        }
        report.saw(machine::wait_until_idle(options.wait)?);
        runs[0].push(milliseconds(|| start_alone(&language.interpreter, language.starter, &code))?);
        let p50 = |of: &Vec<(f64, f64)>| of.last().map_or(0.0, |run| run.0);
        eprintln!(
            "{what}, run {run}: {:.1} ms with a spare, {:.1} ms without, {:.1} ms the interpreter alone",
            p50(&runs[1]),
            p50(&runs[2]),
            p50(&runs[0])
        );
    }
    let [alone, spare, without] = runs;
    let micro =
        |figure: fn(&(f64, f64)) -> f64, runs: &[(f64, f64)]| Spread::of(runs.iter().map(|run| figure(run) * 1e3));
    let row = |server: &str, runs: &[(f64, f64)]| Row {
        what: what.clone(),
        server: server.to_owned(),
        p50: micro(|run| run.0, runs).whole(),
        p99: micro(|run| run.1, runs).whole(),
        ..Row::default()
    };
    let mut peer = row(&format!("{} with the same handler, started", language.name), &alone);
    if !options.peers_only {
        let mut ours = row("milepost, warm spare", &spare);
        let median = Spread::of(spare.iter().map(|run| run.0)).median();
        ours.bar = verdict(&format!("p50 at most {} ms", language.bar_ms), median <= language.bar_ms);
        report.row(ours);
        if !without.is_empty() {
            report.row(row("milepost, no spare", &without));
        }
        let ratio = spare.iter().zip(&alone).map(|(ours, theirs)| ours.0 / theirs.0.max(f64::EPSILON));
        peer.against = format!("{} of its time, with a spare", Spread::of(ratio).times());
    }
    report.row(peer);
    let numbers =
        json!({ "startsARun": STARTS, "p50AndP99InMs": { "spare": spare, "noSpare": without, "interpreter": alone } });
    report.keep("cold", &what, numbers);
    Ok(())
}

/// Returns the median and 99th percentile of one run. With so few starts, the latter is nearly the
/// maximum.
fn milliseconds(mut start: impl FnMut() -> Result<Duration>) -> Result<(f64, f64)> {
    let mut took = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        took.push(start()?.as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    Ok((percentile(&took, 50.0), percentile(&took, 99.0)))
}

/// A server with functions that were never called.
struct Fresh {
    milepost: Milepost,
    connection: Connection,
    next: usize,
}

impl Fresh {
    fn start(
        place: &Place,
        name: &str,
        args: &[&str],
        language: &Language<'_>,
        code: &Path,
        runs: usize,
    ) -> Result<Self> {
        let milepost = Milepost::start(place, name, args)?;
        let folder = place.folder(&format!("{name}-code"))?;
        let handler = std::fs::read_to_string(code.join(language.handler))?;
        for at in 0..=runs * STARTS {
            // Each text differs, because equal content would become one package.
            let file = folder.join(at.to_string());
            std::fs::create_dir(&file)?;
            let file = file.join(language.handler);
            std::fs::write(&file, format!("{handler}{} {at}\n", language.comment))?;
            let function = Function {
                name: &format!("cold-{at}"),
                environment: language.environment,
                code: file,
                entrypoint: language.entrypoint,
                scale: &SCALE,
            };
            milepost.function(&function, &format!("/{at}"))?;
        }
        let connection = Connection::open(milepost.target("/").address)?;
        let mut fresh = Self { milepost, connection, next: 0 };
        // Spares are started with the first function of their language, which is not counted.
        fresh.first_request()?;
        Ok(fresh)
    }

    fn connect(&mut self) -> Result<()> {
        self.connection = Connection::open(self.milepost.target("/").address)?;
        Ok(())
    }

    fn first_request(&mut self) -> Result<Duration> {
        let answer = self.connection.get(&self.milepost.target(&format!("/{}", self.next)))?;
        self.next += 1;
        if answer.status != 200 || answer.body != HELLO {
            bail!("a first request was answered {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        Ok(answer.took)
    }
}

/// From before the process is created until its output was read.
fn start_alone(interpreter: &Path, starter: &str, code: &Path) -> Result<Duration> {
    let mut line = Command::new(interpreter);
    line.arg(starter).current_dir(code).env("PATH", place::PATH).stdin(Stdio::null()).stdout(Stdio::piped());
    let started = Instant::now();
    let mut child = line.spawn().context("could not start the interpreter")?;
    let mut answer = [0; HELLO.len()];
    let read = child.stdout.take().context("a pipe that was asked for")?.read_exact(&mut answer);
    let took = started.elapsed();
    child.wait()?;
    read.context("the interpreter did not answer")?;
    if answer != HELLO { bail!("the interpreter answers something else than it should") } else { Ok(took) }
}
