//! A file of four gigabytes: uploaded with the command line, downloaded whole by a few clients and
//! in parts, compared with nginx serving the same file. No memory use may grow with the size of the
//! file.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::client::Target;
use super::download::{self, Downloads};
use super::machine;
use super::milepost::Milepost;
use super::nginx::Nginx;
use super::options::Options;
use super::place::Place;
use super::process;
use super::report::{Report, Row, Spread, percentile, verdict};

const FILE: &str = "large.bin";
const PROBE: (&str, &[u8]) = ("/probe.txt", b"here\n");
const CLIENTS: usize = 4;
const RANGE: u64 = 1 << 20;
/// Per client and run.
const RANGES: u64 = 250;
/// The allowed growth of memory while the file is uploaded or served, whatever its size.
const FLAT: u64 = 64 << 20;
/// Free disk space required in addition to the two copies of the file.
const SPARE_DISK: u64 = 1 << 30;
const MB: f64 = 1e6;

struct Case {
    what: &'static str,
    clients: usize,
    /// Ranges requested by each client. 0 means the whole file, once.
    ranges: u64,
}

const CASES: [Case; 3] = [
    Case { what: "whole, 1 client", clients: 1, ranges: 0 },
    Case { what: "whole, 4 clients at once", clients: CLIENTS, ranges: 0 },
    Case { what: "ranges of 1 MiB, 4 clients at once", clients: CLIENTS, ranges: RANGES },
];

struct Server {
    name: &'static str,
    target: Target,
    /// The processes whose memory counts: the server alone, or all processes of nginx.
    processes: Vec<u32>,
    root: u32,
    /// Its memory use before the first download.
    idle: u64,
}

/// One run of one case on one server.
struct Sample {
    mb_per_second: f64,
    p50: f64,
    p99: f64,
    cpu_ms_per_gb: f64,
    peak: u64,
}

/// Removes the large files as soon as they are not needed any more.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn run(place: &Place, options: &Options, report: &mut Report) -> Result<()> {
    let size = options.large_bytes;
    let scratch = Scratch(place.folder("large")?);
    let free = free_bytes(&scratch.0)?;
    if free < 2 * size + SPARE_DISK {
        report.note(format!(
            "large file: left out, it needs {} MB of disk and {} are free.",
            2 * size / 1_000_000 + 1000,
            free / 1_000_000
        ));
        return Ok(());
    }
    let files = place.folder("large/files")?;
    fs::write(files.join(PROBE.0.trim_start_matches('/')), PROBE.1)?;
    download::make(&files.join(FILE), size)?;
    let nginx = Nginx::start(place, "large/nginx", &files, "", PROBE)?;
    let milepost = if options.peers_only { None } else { Some(deploy(place, &files, size, report)?) };
    let path = format!("/{FILE}");
    let mut servers = Vec::new();
    if let Some(milepost) = &milepost {
        servers.push(Server::new("milepost", milepost.target(&path), milepost.server.pid(), false)?);
    }
    servers.push(Server::new("nginx, Debian's defaults", nginx.target(&path), nginx.server.pid(), true)?);
    // From here on the file is in the page cache for both, if the machine has enough memory.
    for server in &servers {
        Downloads::open(&server.target)?.get(&server.target, size, None)?;
    }
    for case in &CASES {
        compare(case, &servers, size, options, report)?;
    }
    drop((milepost, nginx));
    drop(scratch);
    Ok(())
}

/// Uploads the files to a server with the command line, and reports time and memory.
fn deploy(place: &Place, files: &Path, size: u64, report: &mut Report) -> Result<Milepost> {
    let mut milepost = Milepost::start(place, "large/milepost", &[])?;
    let folder = files.to_str().context("the temporary folder's name is not UTF-8")?;
    let server = milepost.server.pid();
    let idle = process::resident_bytes_of(server)?;
    process::forget_peak(server)?;
    let (took, command) = milepost.run_watched(&["static", "add", folder, "--path", "/"])?;
    let peak = process::peak_bytes_of(server)?;
    milepost.wait_for(PROBE.0, PROBE.1)?;
    report.row(Row {
        what: format!("{}, `static add`", title(size)),
        server: "milepost".to_owned(),
        rate: format!("{:.0} MB/s", size as f64 / MB / took.as_secs_f64()),
        against: format!(
            "the command has {} MB at most, the server {} (idle {})",
            command / 1_000_000,
            peak / 1_000_000,
            idle / 1_000_000
        ),
        bar: flat(peak.saturating_sub(idle)),
        ..Row::default()
    });
    let numbers = json!({ "bytes": size, "seconds": took.as_secs_f64(), "commandPeak": command, "serverIdle": idle, "serverPeak": peak });
    report.keep("large", "static add", numbers);
    Ok(milepost)
}

impl Server {
    fn new(name: &'static str, target: Target, root: u32, whole_tree: bool) -> Result<Self> {
        let processes = if whole_tree { process::tree(root)? } else { vec![root] };
        let idle = sum(&processes, process::resident_bytes_of)?;
        Ok(Self { name, target, processes, root, idle })
    }

    fn measure(&self, case: &Case, size: u64) -> Result<Sample> {
        for process in &self.processes {
            process::forget_peak(*process)?;
        }
        let (started, ticks) = (Instant::now(), process::ticks_of_tree(self.root)?);
        let answers = std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..case.clients).map(|client| scope.spawn(move || self.download(case, client as u64, size))).collect();
            let mut all = Vec::new();
            for client in clients {
                match client.join() {
                    Ok(times) => all.extend(times?),
                    Err(_) => bail!("a client panicked"),
                }
            }
            Ok(all)
        });
        let mut times = answers?;
        let wall = started.elapsed().as_secs_f64();
        let ticks = process::ticks_of_tree(self.root)?.saturating_sub(ticks);
        times.sort_by(f64::total_cmp);
        let each = if case.ranges > 0 { RANGE.min(size) } else { size };
        let bytes = each as f64 * times.len() as f64;
        Ok(Sample {
            mb_per_second: bytes / MB / wall,
            p50: percentile(&times, 50.0),
            p99: percentile(&times, 99.0),
            cpu_ms_per_gb: process::seconds(ticks) * 1e3 / (bytes / 1e9),
            peak: sum(&self.processes, process::peak_bytes_of)?,
        })
    }

    /// Runs one client. Returns the durations of its downloads in microseconds.
    fn download(&self, case: &Case, client: u64, size: u64) -> Result<Vec<f64>> {
        let mut connection = Downloads::open(&self.target)?;
        let mut times = Vec::new();
        for at in 0..case.ranges.max(1) {
            let started = Instant::now();
            let range = (case.ranges > 0).then(|| range(client * case.ranges + at, size));
            connection.get(&self.target, size, range)?;
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
        Ok(times)
    }
}

/// Spread pseudo-randomly over the file, the same in each run.
fn range(number: u64, size: u64) -> Range<u64> {
    let length = RANGE.min(size);
    let start = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (size - length + 1);
    start..start + length
}

/// Measures the servers in turns, as everywhere.
fn compare(case: &Case, servers: &[Server], size: u64, options: &Options, report: &mut Report) -> Result<()> {
    let what = format!("{}, {}", title(size), case.what);
    let mut samples: Vec<Vec<Sample>> = servers.iter().map(|_| Vec::new()).collect();
    for run in 1..=options.runs {
        for (server, samples) in servers.iter().zip(&mut samples) {
            report.saw(machine::wait_until_idle(options.wait)?);
            let sample = server.measure(case, size)?;
            eprintln!(
                "{what}, run {run}, {}: {:.0} MB/s, {:.0} ms CPU a GB, {} MB at most",
                server.name,
                sample.mb_per_second,
                sample.cpu_ms_per_gb,
                sample.peak / 1_000_000
            );
            samples.push(sample);
        }
    }
    for (at, (server, theirs)) in servers.iter().zip(&samples).enumerate() {
        let spread = |figure: fn(&Sample) -> f64| Spread::of(theirs.iter().map(figure));
        let peak = theirs.iter().map(|sample| sample.peak).max().unwrap_or_default();
        let memory = format!("{} MB at most, {} idle", peak / 1_000_000, server.idle / 1_000_000);
        let mut row = Row {
            what: what.clone(),
            server: server.name.to_owned(),
            rate: format!("{} MB/s", spread(|sample| sample.mb_per_second).whole()),
            p50: spread(|sample| sample.p50).whole(),
            p99: spread(|sample| sample.p99).whole(),
            cpu: format!("{} ms a GB", spread(|sample| sample.cpu_ms_per_gb).whole()),
            against: memory.clone(),
            ..Row::default()
        };
        if !options.peers_only && at == 0 {
            row.bar = flat(peak.saturating_sub(server.idle));
        } else if !options.peers_only {
            let ratio = |figure: fn(&Sample) -> f64| {
                Spread::of(
                    samples[0].iter().zip(theirs).map(|(ours, theirs)| figure(ours) / figure(theirs).max(f64::EPSILON)),
                )
            };
            let (rate, cpu) = (ratio(|sample| sample.mb_per_second), ratio(|sample| sample.cpu_ms_per_gb));
            row.against = format!("{}, CPU {:.2}x; {memory}", rate.times(), cpu.median());
        }
        report.row(row);
        let runs: Vec<Value> = theirs.iter().map(Sample::raw).collect();
        let numbers = json!({ "server": server.name, "bytes": size, "clients": case.clients, "ranges": case.ranges, "idleBytes": server.idle, "runs": runs });
        report.keep("large", case.what, numbers);
    }
    Ok(())
}

impl Sample {
    fn raw(&self) -> Value {
        json!({
            "mbPerSecond": self.mb_per_second, "p50": self.p50, "p99": self.p99,
            "cpuMsPerGb": self.cpu_ms_per_gb, "peakBytes": self.peak,
        })
    }
}

fn title(size: u64) -> String {
    format!("file of {} MiB", size >> 20)
}

fn flat(grown: u64) -> String {
    verdict(&format!("at most {} MB more than idle", FLAT / 1_000_000), grown <= FLAT)
}

fn sum(processes: &[u32], of: fn(u32) -> Result<u64>) -> Result<u64> {
    processes.iter().map(|process| of(*process)).sum()
}

fn free_bytes(folder: &Path) -> Result<u64> {
    let found = rustix::fs::statvfs(folder).with_context(|| format!("could not look at {}", folder.display()))?;
    Ok(found.f_bavail * found.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_within_the_file_and_spread_over_it() {
        let size = 40 * RANGE;
        let all: Vec<Range<u64>> = (0..100).map(|number| range(number, size)).collect();
        assert!(all.iter().all(|range| range.end <= size && range.end - range.start == RANGE));
        assert!(all.iter().any(|range| range.start < 8 * RANGE) && all.iter().any(|range| range.end > 32 * RANGE));
        assert_eq!(range(7, 1000), 0..1000);
    }
}
