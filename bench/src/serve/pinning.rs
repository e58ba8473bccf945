//! Controls on which cores servers and their client run.
//!
//! With one request at a time all processes sleep most of the time, and the duration of a call is
//! mostly the time to wake up the next process. On another core that can take ten times as long as
//! on the same one, and the scheduler's choice varies. So such figures are measured both ways, and
//! each is labelled.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::process;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    Scheduler,
    OneCore,
}

impl Placement {
    pub const ALL: [Self; 2] = [Self::OneCore, Self::Scheduler];

    pub fn text(self) -> &'static str {
        match self {
            Self::Scheduler => "placed by the scheduler",
            Self::OneCore => "all on one core",
        }
    }

    /// Places the processes, all their descendants, and the calling thread.
    pub fn put(self, roots: &[u32]) -> Result<()> {
        // Read from the main thread, which is never moved.
        let status = fs::read_to_string("/proc/self/status").context("could not read /proc/self/status")?;
        let all = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let all = all.context("no Cpus_allowed_list in /proc/self/status")?.trim();
        let cores = match self {
            Self::Scheduler => all,
            Self::OneCore => first(all),
        };
        let own = fs::read_link("/proc/thread-self").context("could not read /proc/thread-self")?;
        let own = own.file_name().and_then(|name| name.to_str()).context("/proc/thread-self has no number")?;
        taskset(&["--cpu-list", "--pid", cores, own])?;
        for root in roots {
            for process in process::tree(*root)? {
                let moved = taskset(&["--all-tasks", "--cpu-list", "--pid", cores, &process.to_string()]);
                // Ignores processes that have ended.
                if moved.is_err() && fs::exists(format!("/proc/{process}"))? {
                    return moved;
                }
            }
        }
        Ok(())
    }
}

/// The first core of a list such as `0-3,8`.
fn first(list: &str) -> &str {
    list.split(['-', ',']).next().unwrap_or(list)
}

fn taskset(args: &[&str]) -> Result<()> {
    let output = Command::new("taskset").args(args).output().context("could not run `taskset`, of util-linux")?;
    if !output.status.success() {
        bail!("`taskset {}` failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores_of(process: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
        list.trim().to_owned()
    }

    #[test]
    fn finds_the_first_core_of_a_list() {
        assert_eq!([first("0-3,8"), first("2"), first("5,7")], ["0", "2", "5"]);
    }

    #[test]
    fn pins_a_process_and_its_caller_to_one_core_and_back() {
        let all = cores_of("self");
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep runs");
        let id = child.id().to_string();
        Placement::OneCore.put(&[child.id()]).expect("pinned");
        let pinned = [cores_of(&id), cores_of("thread-self")];
        Placement::Scheduler.put(&[child.id()]).expect("let go");
        let free = [cores_of(&id), cores_of("thread-self")];
        child.kill().expect("it lived");
        child.wait().expect("it ended");
        assert_eq!(pinned, [first(&all), first(&all)]);
        assert_eq!(free, [all.clone(), all]);
    }
}
