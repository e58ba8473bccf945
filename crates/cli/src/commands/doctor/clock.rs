//! Compares the clocks of this machine, the file system and the server.

use std::path::Path;

use milepost_model::{Clock, SystemClock, Timestamp};

use super::check::Check;
use super::machine::nearest;

/// This program is newer, so an earlier time is wrong.
const EARLIEST: i64 = 1_767_225_600; // 2026-01-01
const SET_IT: &str = "set the time, or enable NTP with `timedatectl set-ntp true`";
/// Tolerance between the clocks of two machines, in seconds.
const ALLOWED_S: i64 = 60;

pub fn of_this_machine(data: &Path) -> Vec<Check> {
    let now = SystemClock.now();
    if now.as_second() < EARLIEST {
        return vec![Check::bad("clock", format!("the time {now} is in the past"), SET_IT)];
    }
    if let Some(written) = file_time(nearest(data))
        && apart(written, now) > ALLOWED_S
    {
        let detail = format!("the file system dates a new file {written}, but the clock says {now}");
        return vec![Check::warn("clock", detail, "set both clocks: the data folder is on another machine's disk")];
    }
    if let Some((name, at)) = newest(data)
        && at.as_second() > now.as_second() + ALLOWED_S
    {
        let detail = format!("the clock went back: it says {now}, but `{name}` was written at {at}");
        return vec![Check::bad("clock", detail, SET_IT)];
    }
    vec![Check::ok("clock", "agrees with the file system")]
}

pub fn of_the_server(here: Timestamp, server: Timestamp) -> Check {
    let apart = apart(here, server);
    if apart <= ALLOWED_S {
        return Check::ok("server clock", "agrees with this machine's");
    }
    Check::bad("server clock", format!("differs from this machine's by {apart} s: {server} and {here}"), SET_IT)
}

/// `None` if the clocks agree.
pub fn of_the_database(ahead_ms: i64) -> Option<Check> {
    const NAME: &str = "database clock";
    let (off, way) = (ahead_ms.unsigned_abs(), if ahead_ms > 0 { "ahead of" } else { "behind" });
    let detail = format!("the server's clock is {}.{} s {way} the database's", off / 1000, off % 1000 / 100);
    match off {
        0..=2_000 => None,
        2_001..=30_000 => Some(Check::warn(NAME, detail, SET_IT)),
        _ => Some(Check::bad(NAME, format!("{detail}: that server fires no jobs and timers"), SET_IT)),
    }
}

fn apart(one: Timestamp, other: Timestamp) -> i64 {
    (one.as_second() - other.as_second()).abs()
}

/// The modification time that the file system gives to a file written now.
fn file_time(folder: &Path) -> Option<Timestamp> {
    let file = tempfile::Builder::new().prefix(".milepost-doctor-").tempfile_in(folder).ok()?;
    Timestamp::try_from(file.as_file().metadata().ok()?.modified().ok()?).ok()
}

/// The most recently modified file of the data directory.
fn newest(data: &Path) -> Option<(String, Timestamp)> {
    let entries = std::fs::read_dir(data).ok()?.filter_map(Result::ok);
    let times = entries.filter_map(|entry| {
        let at = Timestamp::try_from(entry.metadata().ok()?.modified().ok()?).ok()?;
        Some((entry.file_name().to_string_lossy().into_owned(), at))
    });
    times.max_by_key(|(_, at)| *at)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::check::State;
    use super::*;

    #[test]
    fn file_from_the_future_means_the_clock_went_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("catalog.db");
        let file = std::fs::File::create(&path).expect("a file");
        assert_eq!(of_this_machine(folder.path())[0].state, State::Ok);
        let now = file.metadata().and_then(|metadata| metadata.modified()).expect("a time");
        file.set_modified(now + Duration::from_secs(3600)).expect("another time");
        let check = &of_this_machine(folder.path())[0];
        assert_eq!(check.state, State::Bad, "{check:?}");
        assert!(check.detail.contains("`catalog.db`"), "{check:?}");
    }

    #[test]
    fn a_clock_that_differs_from_the_database_is_reported_by_how_much() {
        let told = |ahead| of_the_database(ahead).map(|check| (check.state, check.detail));
        assert_eq!((told(2000), told(-2000)), (None, None));
        let (state, detail) = told(-2100).expect("a warning");
        assert_eq!((state, detail.as_str()), (State::Warn, "the server's clock is 2.1 s behind the database's"));
        let (state, detail) = told(600_000).expect("an error");
        assert_eq!(state, State::Bad);
        assert!(
            detail.ends_with("is 600.0 s ahead of the database's: that server fires no jobs and timers"),
            "{detail}"
        );
    }

    #[test]
    fn server_clock_may_differ_by_less_than_a_minute() {
        let at = |text: &str| text.parse().expect("a time");
        assert_eq!(of_the_server(at("2026-01-02T03:04:05Z"), at("2026-01-02T03:04:50Z")).state, State::Ok);
        assert_eq!(of_the_server(at("2026-01-02T03:04:05Z"), at("2026-01-02T03:14:05Z")).state, State::Bad);
    }
}
