//! What an unchanged folder costs beside `git status` of the same folder. It prints and judges nothing, because a test
//! machine is never quiet: `cargo nextest run -p milepost-client --run-ignored only --no-capture -E 'binary(source_speed)'`.
#![expect(clippy::expect_used, reason = "a test that cannot set its stage must fail")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use milepost_client::source::{Source, SourceOptions, StatCache};
use milepost_model::clock::{Clock as _, SystemClock, from_millis};

const ROUNDS: usize = 15;

fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=speed", "-c", "user.email=speed@localhost"];
    let output = Command::new("git").args(identity).args(args).current_dir(folder).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

#[test]
#[ignore = "a measurement for people"]
fn ten_thousand_files_beside_git_status() {
    let stage = tempfile::tempdir().expect("folder");
    let folder = stage.path().join("app");
    for number in 0..10_000 {
        let place = folder.join(format!("dir{:02}/file{number}.txt", number % 100));
        if number < 100 {
            fs::create_dir_all(place.parent().expect("below the folder")).expect("folder");
        }
        fs::write(place, format!("file {number}\n").repeat(20)).expect("file");
    }
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "all"]);
    git(&folder, &["status", "--porcelain"]);

    let later = from_millis(SystemClock.now().as_millisecond() + 3_600_000);
    let scan = |cache_file: &str| {
        let mut cache = StatCache::load(stage.path().join(cache_file), later);
        let source = Source::open(&folder, &SourceOptions::default(), Some(&mut cache)).expect("a source");
        (source.root().expect("root"), source.summary().files_hashed)
    };
    let start = Instant::now();
    assert_eq!(scan("cache").1, 10_000);
    println!("first scan, all hashed: {:?}", start.elapsed());
    let ours = median(|| assert_eq!(scan("cache").1, 0));
    let theirs = median(|| git(&folder, &["status", "--porcelain"]));
    println!("unchanged: {ours:?}; git status: {theirs:?}; {:.2} times", ours.as_secs_f64() / theirs.as_secs_f64());
    let load = median(|| assert_eq!(StatCache::load(stage.path().join("cache"), later).len(), 10_000));
    println!("loading the cache alone: {load:?}");
}
