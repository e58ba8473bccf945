//! Reads facts about a worker's processes from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// All descendants of a process, parents before their children.
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

/// The private and shared memory of processes in bytes. Pages shared after a fork, and touched
/// shared memory, count for each process that has them: overestimating is safer than
/// underestimating.
pub(super) fn memory_of(processes: &[u32]) -> u64 {
    let resident = processes.iter().filter_map(|process| resident(*process));
    let (own, touched) = resident.fold((0, 0), |(own, touched), more| (own + more.0, touched + more.1));
    // Pages of shared memory outlive their last unmapping and then appear nowhere, so the full size
    // of a segment counts.
    let mut shared = HashMap::new();
    processes.iter().for_each(|process| add_shared(*process, &mut shared));
    own + u64::max(touched, shared.values().sum())
}

fn resident(of: u32) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{of}/status")).ok()?;
    let bytes = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
    };
    Some((bytes("RssAnon:")?, bytes("RssShmem:")?))
}

/// Sizes of anonymous shared memory by inode, as far as it is mapped.
fn add_shared(of: u32, sizes: &mut HashMap<u64, u64>) {
    let Ok(maps) = fs::read(format!("/proc/{of}/maps")) else { return };
    let maps = String::from_utf8_lossy(&maps);
    for (inode, end) in maps.lines().filter(|line| line.ends_with(SHARED)).filter_map(end_of_mapping) {
        let size = sizes.entry(inode).or_default();
        *size = end.max(*size);
    }
}

/// The kernel's name for anonymous shared memory.
const SHARED: &str = "/dev/zero (deleted)";

/// `7f0000000000-7f0000a00000 rw-s 00000000 00:01 1037  /dev/zero (deleted)`
fn end_of_mapping(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let length = hex(to)?.checked_sub(hex(from)?)?;
    let offset = hex(words.nth(1)?)?;
    Some((words.nth(1)?.parse().ok()?, offset.checked_add(length)?))
}

/// Bytes used by files in the scratch tmpfs, whether or not a process maps them.
pub(super) fn scratch_memory(of: u32, scratch: &str) -> u64 {
    rustix::fs::statvfs(format!("/proc/{of}/root{scratch}"))
        .map_or(0, |found| found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize))
}

/// The number of processes and threads of a user.
pub(super) fn tasks_of(user: u32) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    processes
        .flatten()
        .filter(|process| process.metadata().is_ok_and(|found| found.uid() == user))
        .filter_map(|process| fs::read_dir(process.path().join("task")).ok())
        .map(|threads| threads.count() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_mapping_of_shared_memory() {
        let line = "7f0000000000-7f0000a00000 rw-s 00100000 00:01 1037                       /dev/zero (deleted)";
        assert_eq!(end_of_mapping(line), Some((1037, (10 << 20) + (1 << 20))));
        assert_eq!(end_of_mapping("7f00-7e00 rw-s 0 00:01 1 /dev/zero (deleted)"), None);
        assert_eq!(end_of_mapping("x"), None);
    }
}
