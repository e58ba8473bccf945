//! Servers as separate processes, and the CPU time that they and their children used.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// The unit of `/proc/PID/stat`, a hundredth of a second on every Linux that this runs on.
const TICKS_PER_SECOND: f64 = 100.0;
const STOP_DEADLINE: Duration = Duration::from_secs(10);

/// A server that ends when this value is dropped, and with this program however it ends.
pub struct Running {
    child: Child,
}

/// A command that gets a signal when this program ends, so that an aborted measurement leaves no
/// server behind.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program).stdin(Stdio::null());
    command
}

impl Running {
    /// Starts a command made by [`command`]. Its output goes to the file `log`.
    pub fn start(mut command: Command, log: &Path) -> Result<Self> {
        let output = fs::File::create(log).with_context(|| format!("could not make {}", log.display()))?;
        let errors = output.try_clone()?;
        let text = format!("{command:?}");
        let child = command.stdout(output).stderr(errors).spawn();
        Ok(Self { child: child.with_context(|| format!("could not start {text}"))? })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().context("could not kill a server")?;
        self.child.wait().context("could not wait for a server")?;
        Ok(())
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    /// Sends SIGTERM first: nginx and gunicorn end their workers only on request.
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let started = Instant::now();
        while started.elapsed() < STOP_DEADLINE {
            if self.has_ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time in ticks used by the process and all its descendants, including those that have ended.
pub fn ticks_of_tree(root: u32) -> Result<u64> {
    Ok(stats_of_tree(root)?.iter().map(|process| process.own + process.ended).sum())
}

/// The process and all its descendants.
pub fn tree(root: u32) -> Result<Vec<u32>> {
    Ok(stats_of_tree(root)?.iter().map(|process| process.pid).collect())
}

fn stats_of_tree(root: u32) -> Result<Vec<Stat>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc").context("could not read /proc")? {
        let path = entry?.path();
        let numbered = path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.parse::<u32>().is_ok());
        // A process may end between the two reads.
        if numbered && let Ok(text) = fs::read_to_string(path.join("stat")) {
            processes.extend(Stat::parse(&text));
        }
    }
    let (mut found, mut rest) = processes.into_iter().partition::<Vec<_>, _>(|process| process.pid == root);
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|process| process.pid) {
        found.extend(rest.extract_if(.., |process| process.parent == parent));
        at += 1;
    }
    Ok(found)
}

/// Ticks of this program's ended children. Read before and after a run of the load generator, the
/// difference is its CPU time.
pub fn ticks_of_ended_children() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/stat").context("could not read /proc/self/stat")?;
    Ok(Stat::parse(&text).context("/proc/self/stat cannot be read")?.ended)
}

pub fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS_PER_SECOND
}

/// Resident memory of this program, in bytes.
pub fn resident_bytes() -> Result<u64> {
    status_bytes("self", "VmRSS:")
}

/// Resident memory of a process, in bytes.
pub fn resident_bytes_of(process: u32) -> Result<u64> {
    status_bytes(&process.to_string(), "VmRSS:")
}

/// Peak memory of a process since its start or since [`forget_peak`].
pub fn peak_bytes_of(process: u32) -> Result<u64> {
    status_bytes(&process.to_string(), "VmHWM:")
}

/// Resets the peak memory of a process.
pub fn forget_peak(process: u32) -> Result<()> {
    let path = format!("/proc/{process}/clear_refs");
    fs::write(&path, "5").with_context(|| format!("could not write {path}"))
}

fn status_bytes(process: &str, field: &str) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let line = line.with_context(|| format!("no {field} in {path}"))?;
    let kilobytes: u64 =
        line.trim().trim_end_matches(" kB").parse().with_context(|| format!("{field} is no number"))?;
    Ok(kilobytes * 1024)
}

/// The fields of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    pid: u32,
    parent: u32,
    /// User and system time of all its threads.
    own: u64,
    /// The same for its ended children.
    ended: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The program's name is in parentheses and may contain anything, including parentheses.
        let (before, after) = text.rsplit_once(')')?;
        let pid = before.split_once(' ')?.0.parse().ok()?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            own: number(11)? + number(12)?,
            ended: number(13)? + number(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_process_with_an_odd_name() {
        let text = "77 (odd) name) S 12 77 77 0 -1 4194560 1 0 0 0 31 11 5 3 20 0 1 0 100 0 0\n";
        assert_eq!(Stat::parse(text), Some(Stat { pid: 77, parent: 12, own: 42, ended: 8 }));
        assert_eq!(Stat::parse("77 (short) S 12"), None);
    }

    #[test]
    fn the_time_of_ended_children_counts() {
        let before = ticks_of_ended_children().expect("this program's times");
        let burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", burn]).status().expect("sh runs").success());
        assert!(ticks_of_ended_children().expect("this program's times") > before);
        assert!(ticks_of_tree(std::process::id()).expect("this program's times") > before);
    }

    #[test]
    fn reports_and_resets_the_peak() {
        let own = std::process::id();
        let large = vec![1_u8; 64 << 20];
        // The kernel counts in batches per core, so not exactly.
        let held = 56 << 20;
        assert_eq!(large.iter().map(|one| usize::from(*one)).sum::<usize>(), 64 << 20);
        drop(large);
        assert!(peak_bytes_of(own).expect("a peak") >= held);
        forget_peak(own).expect("its own");
        assert!(peak_bytes_of(own).expect("a peak") < held);
    }

    #[test]
    fn a_tree_includes_descendants() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().expect("sh runs");
        let found = loop {
            let found = tree(shell.id()).expect("processes");
            if found.len() > 1 {
                break found;
            }
        };
        for process in &found {
            let _ = Command::new("kill").arg(process.to_string()).status();
        }
        shell.wait().expect("it ended");
        assert_eq!(found[0], shell.id());
    }
}
