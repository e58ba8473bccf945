//! Function logs: stored on the local disk with a size limit per app, and streamed to followers.
//!
//! Lines go through a queue to a single writer, so [`Logs::push`] never waits for the disk. When
//! the queue is full, lines are dropped, and their number is logged as a separate line.

mod files;
mod query;
mod taps;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_client::api::{self, LogEntry};
use milepost_model::AppName;
use milepost_runtime::{LogLine, LogSource};
use tokio::sync::{broadcast, mpsc};

use files::Files;
pub(crate) use query::Filter;
use taps::{Tap, Taps};

const QUEUE: usize = 10_000;
/// Followers that fall further behind than this miss lines.
const FOLLOW: usize = 4096;
/// Maximum lines per write.
const BATCH: usize = 1000;

pub(crate) struct Logs {
    queue: mpsc::Sender<Message>,
    dropped: Arc<AtomicU64>,
    news: broadcast::Sender<Arc<News>>,
    files: Arc<Files>,
    taps: Taps,
}

/// A log line sent to followers.
pub(crate) struct News {
    pub app: AppName,
    pub entry: LogEntry,
}

enum Message {
    Line(LogLine),
    /// Answered when all earlier lines are on disk.
    Flush(tokio::sync::oneshot::Sender<()>),
}

impl Logs {
    pub(crate) fn open(folder: PathBuf) -> std::io::Result<Arc<Self>> {
        let files = Arc::new(Files::open(folder)?);
        let (queue, lines) = mpsc::channel(QUEUE);
        let (news, _) = broadcast::channel(FOLLOW);
        let dropped = Arc::new(AtomicU64::new(0));
        let logs = Arc::new(Self {
            queue,
            dropped: Arc::clone(&dropped),
            news: news.clone(),
            files: Arc::clone(&files),
            taps: Taps::default(),
        });
        tokio::spawn(write(lines, files, news, dropped));
        Ok(logs)
    }

    pub(crate) fn push(&self, line: LogLine) {
        self.taps.pass(&line);
        if self.queue.try_send(Message::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Starts collecting the lines of one request.
    pub(crate) fn tap(&self, request: &str) -> Tap<'_> {
        self.taps.open(request)
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<Arc<News>> {
        self.news.subscribe()
    }

    /// The newest matching lines, oldest first. Includes everything pushed before the call.
    pub(crate) async fn find(&self, app: AppName, filter: Filter) -> std::io::Result<Vec<LogEntry>> {
        let (done, flushed) = tokio::sync::oneshot::channel();
        if self.queue.send(Message::Flush(done)).await.is_ok() {
            let _ = flushed.await;
        }
        let files = Arc::clone(&self.files);
        tokio::task::spawn_blocking(move || query::find(&files, &app, &filter)).await.map_err(std::io::Error::other)?
    }
}

async fn write(
    mut lines: mpsc::Receiver<Message>,
    files: Arc<Files>,
    news: broadcast::Sender<Arc<News>>,
    dropped: Arc<AtomicU64>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while lines.recv_many(&mut batch, BATCH).await > 0 {
        let mut fresh = Vec::with_capacity(batch.len());
        let mut waiting = Vec::new();
        for message in batch.drain(..) {
            match message {
                Message::Line(line) => {
                    let lost = dropped.swap(0, Ordering::Relaxed);
                    if lost > 0 {
                        fresh.push(Arc::new(lost_lines(&line, lost)));
                    }
                    fresh.push(Arc::new(News { app: line.app.clone(), entry: entry(line) }));
                }
                Message::Flush(done) => waiting.push(done),
            }
        }
        for line in &fresh {
            // Fails only if there are no followers.
            let _ = news.send(Arc::clone(line));
        }
        let to = Arc::clone(&files);
        let written = tokio::task::spawn_blocking(move || to.append(&fresh)).await;
        if let Ok(Err(error)) = written {
            tracing::error!(error = &error as &dyn std::error::Error, "lines of functions could not be written");
        }
        for done in waiting {
            let _ = done.send(());
        }
    }
}

fn lost_lines(near: &LogLine, lost: u64) -> News {
    let mut entry = entry(near.clone());
    entry.request = None;
    entry.source = api::LogSource::Runtime;
    entry.text = format!("{lost} lines were dropped: functions write faster than this machine's disk");
    News { app: near.app.clone(), entry }
}

fn entry(line: LogLine) -> LogEntry {
    LogEntry {
        at: line.at,
        function: line.function.to_string(),
        number: line.number,
        uid: line.uid,
        instance: line.instance,
        request: line.request.map(String::from),
        source: source(line.source),
        text: line.text,
    }
}

fn source(source: LogSource) -> api::LogSource {
    match source {
        LogSource::Stdout => api::LogSource::Stdout,
        LogSource::Stderr => api::LogSource::Stderr,
        LogSource::Runtime => api::LogSource::Runtime,
    }
}
