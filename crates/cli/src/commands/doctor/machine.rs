//! Checks the data directory and its disk.

use std::path::Path;

use super::check::Check;

/// Below this, deploys soon fail.
const FULL: u64 = 256 << 20;
const NARROW: u64 = 2 << 30;

pub fn checks(data: &Path) -> Vec<Check> {
    vec![writable(data), disk(data)]
}

/// The path itself, or its nearest ancestor that exists.
pub fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"))
}

fn writable(data: &Path) -> Check {
    let shown = data.display();
    let place = nearest(data);
    if let Err(error) = tempfile::Builder::new().prefix(".milepost-doctor-").tempfile_in(place) {
        let detail = format!("`{}` is not writable: {error}", place.display());
        return Check::bad(
            "data folder",
            detail,
            "take ownership with `chown`, or pass another folder with `--data DIR`",
        );
    }
    if data.is_dir() {
        Check::ok("data folder", format!("{shown} is writable"))
    } else {
        Check::ok("data folder", format!("{shown} will be created by the first start"))
    }
}

fn disk(data: &Path) -> Check {
    let place = nearest(data);
    match rustix::fs::statvfs(place) {
        Ok(stat) => {
            // File systems that allocate inodes dynamically report zero total inodes.
            let no_inodes = stat.f_files > 0 && stat.f_favail == 0;
            space(stat.f_bavail.saturating_mul(stat.f_frsize), no_inodes)
        }
        Err(error) => Check::warn("disk", format!("could not read its free space: {error}"), "check it with `df`"),
    }
}

pub fn space(free: u64, no_inodes: bool) -> Check {
    let shown = size(free);
    let sweep = "run `milepost storage sweep` to delete unused content, free some space, or move the data folder";
    if no_inodes {
        Check::bad("disk", "no free inodes: no more files can be created", "delete files that are not needed")
    } else if free < FULL {
        Check::bad("disk", format!("full, only {shown} free"), sweep)
    } else if free < NARROW {
        Check::warn("disk", format!("{shown} free"), sweep)
    } else {
        Check::ok("disk", format!("{shown} free"))
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=1_048_575 => format!("{} KiB", bytes >> 10),
        1_048_576..=1_073_741_823 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn disk_counts_as_full_before_its_last_byte() {
        let state = |free: u64| space(free, false).state;
        assert_eq!([state(0), state(300 << 20), state(3 << 30)], [State::Bad, State::Warn, State::Ok]);
        assert_eq!(space(u64::MAX, true).state, State::Bad);
        assert_eq!(space(3 << 29, false).detail, "1.5 GiB free");
    }

    #[test]
    fn missing_folder_is_checked_at_its_nearest_ancestor() {
        assert_eq!(nearest(Path::new("/no-such/folder/at-all")), Path::new("/"));
        let check = writable(Path::new("/proc/no-such"));
        assert_eq!(check.state, State::Bad, "{check:?}");
    }
}
