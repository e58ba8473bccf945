//! What `/proc` tells about the processes of a worker.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// Everything below a process, parents before their children.
pub(super) fn descendants(of: u32) -> Vec<u32> {
    let mut found = children(of);
    let mut next = 0;
    while next < found.len() {
        found.extend(children(found[next]));
        next += 1;
    }
    found
}

pub(super) fn children(of: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else { return Vec::new() };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| line.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Bytes that a process has in memory of its own, and what it has touched of shared memory. Pages that a fork still shares,
/// and shared memory, are counted for each process that has them: too much rather than too little.
pub(super) fn own_memory(of: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{of}/status")).ok()?;
    let kibibytes = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    Some((kibibytes("RssAnon:")? + kibibytes("RssShmem:")?) << 10)
}

/// Bytes that files in memory take, which no process has to have mapped.
pub(super) fn scratch_memory(of: u32, scratch: &str) -> u64 {
    rustix::fs::statvfs(format!("/proc/{of}/root{scratch}"))
        .map_or(0, |found| found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize))
}

/// Processes and threads of a user.
pub(super) fn tasks_of(user: u32) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    processes
        .flatten()
        .filter(|process| process.metadata().is_ok_and(|found| found.uid() == user))
        .filter_map(|process| fs::read_dir(process.path().join("task")).ok())
        .map(|threads| threads.count() as u64)
        .sum()
}
