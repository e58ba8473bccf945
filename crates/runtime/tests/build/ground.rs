//! A runtime in a temporary directory, and helpers to build in it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use milepost_model::spec::Runtime as Kind;
use milepost_model::{Clock as _, Digest, SystemClock, Timestamp};
use milepost_runtime::{
    BuildFailure, BuildOrder, BuildRoom, DiskLimit, Host, HostError, LogLine, Package, Runtime, RuntimeSettings,
    SealedValue,
};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A host for builds, which never call it.
struct NoHost;

impl Host for NoHost {
    fn package(&self, _: Digest) -> BoxFuture<'_, Result<Package, HostError>> {
        Box::pin(async { Err(HostError("there are no packages".to_owned())) })
    }

    fn open_secret(&self, _: &SealedValue) -> Result<String, HostError> {
        Err(HostError("there are no secrets".to_owned()))
    }

    fn log(&self, _: LogLine) {}

    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
}

pub struct Ground {
    pub runtime: Runtime,
    pub folder: TempDir,
}

pub struct Built {
    pub outcome: Result<(), BuildFailure>,
    pub lines: Vec<String>,
    pub room: BuildRoom,
}

impl Built {
    /// The lines of a build that is expected to succeed.
    #[track_caller]
    pub fn lines(&self) -> Vec<&str> {
        assert!(self.outcome.is_ok(), "{:?}: {:#?}", self.outcome, self.lines);
        self.lines.iter().map(String::as_str).collect()
    }

    #[track_caller]
    pub fn reason(&self) -> String {
        self.outcome.as_ref().expect_err("a failure").to_string()
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.room.result().join(path)).expect("a file of the result")
    }
}

impl Ground {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut RuntimeSettings)) -> Self {
        let folder = tempfile::Builder::new().prefix("build-").tempdir().expect("a folder");
        let mut settings = RuntimeSettings::new(crate::support::stages(), folder.path().join("run"));
        settings.spares.python = 0;
        settings.spares.node = 0;
        change(&mut settings);
        let runtime = Runtime::start(settings, Arc::new(NoHost)).await.expect("a runtime");
        Self { runtime, folder }
    }

    pub async fn room(&self, files: &[(&str, &str)]) -> BuildRoom {
        let room = self.runtime.build_room().await.expect("a room");
        for (name, text) in files {
            let path = room.source().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
            fs::write(path, text).expect("write a file");
        }
        room
    }

    pub async fn build(&self, files: &[(&str, &str)], command: &str) -> Built {
        self.build_order(files, order(Kind::Binary, command)).await
    }

    pub async fn build_order(&self, files: &[(&str, &str)], order: BuildOrder) -> Built {
        let room = self.room(files).await;
        let (sender, mut receiver) = mpsc::channel(16);
        let mut lines = Vec::new();
        let read = async {
            while let Some(line) = receiver.recv().await {
                lines.push(line);
            }
        };
        let (outcome, ()) = tokio::join!(self.runtime.build(&room, order, sender), read);
        Built { outcome, lines, room }
    }

    /// The number of existing build directories.
    pub fn rooms(&self) -> usize {
        let servers = fs::read_dir(self.folder.path().join("run")).expect("a run folder").flatten();
        servers.filter_map(|server| fs::read_dir(server.path().join("build")).ok()).map(Iterator::count).sum()
    }
}

pub fn order(runtime: Kind, command: &str) -> BuildOrder {
    let limit = Duration::from_secs(60);
    let disk = DiskLimit { bytes: 4 << 30, of_plan: false };
    BuildOrder { runtime, interpreter: String::new(), command: command.to_owned(), limit, disk, cpu: 0, cache: None }
}

/// The number of processes on the machine with this text in their command line.
pub fn processes_with(mark: &str) -> usize {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .filter(|line| line.windows(mark.len()).any(|part| part == mark.as_bytes()))
        .count()
}

pub fn mark(name: &str, folder: &Path) -> String {
    format!("mark-{name}-{}", folder.file_name().expect("a name").to_string_lossy())
}

/// Polls a condition that no event announces.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(20), "this did not happen: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
