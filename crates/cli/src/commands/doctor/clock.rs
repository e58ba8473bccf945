//! Clocks: of this machine, of the file system, of the server.

use std::path::Path;

use milepost_model::{Clock, SystemClock, Timestamp};

use super::check::Check;
use super::machine::nearest;

/// This program is younger.
const EARLIEST: i64 = 1_767_225_600; // 2026-01-01
const SET_IT: &str = "set the time, or let it be set with `timedatectl set-ntp true`";
/// Clocks of two machines are never quite equal.
const ALLOWED_S: i64 = 60;

pub fn of_this_machine(data: &Path) -> Vec<Check> {
    let now = SystemClock.now();
    if now.as_second() < EARLIEST {
        return vec![Check::bad("clock", format!("it says {now}, which has long passed"), SET_IT)];
    }
    if let Some(written) = file_time(nearest(data))
        && apart(written, now) > ALLOWED_S
    {
        let detail = format!("a file written now is dated {written}; the clock says {now}");
        return vec![Check::warn("clock", detail, "the data folder is on another machine's disk: set both clocks")];
    }
    if let Some((name, at)) = newest(data)
        && at.as_second() > now.as_second() + ALLOWED_S
    {
        let detail = format!("`{name}` was written at {at}, and the clock says {now}: it went back");
        return vec![Check::bad("clock", detail, SET_IT)];
    }
    vec![Check::ok("clock", "it agrees with the file system")]
}

pub fn of_the_server(here: Timestamp, server: Timestamp) -> Check {
    let apart = apart(here, server);
    if apart <= ALLOWED_S {
        return Check::ok("server clock", "it agrees with this machine's");
    }
    Check::bad("server clock", format!("it is {apart} s apart from this machine's: {server} and {here}"), SET_IT)
}

fn apart(one: Timestamp, other: Timestamp) -> i64 {
    (one.as_second() - other.as_second()).abs()
}

/// When the file system says that a file was written which was written now.
fn file_time(folder: &Path) -> Option<Timestamp> {
    let file = tempfile::Builder::new().prefix(".milepost-doctor-").tempfile_in(folder).ok()?;
    Timestamp::try_from(file.as_file().metadata().ok()?.modified().ok()?).ok()
}

/// The file of the data folder that was written last.
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
    fn a_file_from_the_future_tells_that_the_clock_went_back() {
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
    fn a_server_with_another_time_is_bad() {
        let at = |text: &str| text.parse().expect("a time");
        assert_eq!(of_the_server(at("2026-01-02T03:04:05Z"), at("2026-01-02T03:04:50Z")).state, State::Ok);
        assert_eq!(of_the_server(at("2026-01-02T03:04:05Z"), at("2026-01-02T03:14:05Z")).state, State::Bad);
    }
}
