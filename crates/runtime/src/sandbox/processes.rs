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

/// Bytes that a process alone has in memory. Pages that a fork still shares are counted for both.
pub(super) fn own_memory(of: u32) -> Option<u64> {
    let pages = fs::read_to_string(format!("/proc/{of}/statm")).ok()?;
    let mut pages = pages.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
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
