//! Notifications of changes from other servers over the same PostgreSQL. A broken connection may
//! lose some: the listener then receives [`Heard::Gap`] and must read the state again.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::Backoff;
use tokio::sync::mpsc;
use tokio_postgres::AsyncMessage;

use super::Db;
use super::postgres::Connector;
use crate::error::{CatalogError, Result};

/// What a listener receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Something in this app changed.
    App(milepost_model::AppName),
    /// Notifications may have been missed.
    Gap,
}

/// What a listener hears of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Topic {
    Apps,
    /// A separate channel, because a notification on the other one makes servers read an app again.
    /// Payloads are empty, so each arrives as [`Heard::Gap`].
    Executions,
}

impl Topic {
    pub(super) fn channel(self) -> &'static str {
        match self {
            Self::Apps => "milepost",
            Self::Executions => "milepost_executions",
        }
    }

    /// A value that differs whenever there may be something new.
    fn mark(self) -> &'static str {
        match self {
            Self::Apps => {
                "SELECT CAST(count(*) AS TEXT) || ' ' || CAST(COALESCE(sum(event_seq), 0) AS TEXT) \
                 || ' ' || CAST(COALESCE(max(id), 0) AS TEXT) FROM apps WHERE deleted_at IS NULL"
            }
            // The time, as long as there is something to run or to cancel.
            Self::Executions => {
                "SELECT CASE WHEN EXISTS (SELECT 1 FROM executions WHERE status = 'queued') \
                 OR EXISTS (SELECT 1 FROM executions WHERE status = 'running' AND cancel = 1) \
                 THEN CAST(clock_timestamp() AS TEXT) ELSE '' END"
            }
        }
    }
}

/// Capacity of the channel. A listener that falls behind receives a gap instead.
const WAITING: usize = 1024;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
/// Polling interval where nothing can be listened to.
const LOOK: Duration = Duration::from_millis(250);

/// Listens until the receiver is dropped.
pub(super) fn start(connector: Arc<Connector>, topic: Topic) -> mpsc::Receiver<Heard> {
    let (to, heard) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut backoff = BACKOFF;
        while !to.is_closed() {
            match listen(&connector, topic.channel(), &to).await {
                Ok(()) => backoff.reset(),
                Err(error) => {
                    tracing::debug!(error = &error as &dyn std::error::Error, "the listener lost its connection");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(backoff.next_delay()) => {}
                () = to.closed() => return,
            }
        }
    });
    heard
}

async fn listen(connector: &Connector, channel: &str, to: &mpsc::Sender<Heard>) -> Result<()> {
    let failed = |error| CatalogError::database("listen to PostgreSQL", error);
    let connected = connector.connect().await;
    let (client, mut connection) = connected.map_err(|error| CatalogError::database("listen to PostgreSQL", error))?;
    // The connection must be polled for the statement to complete, so it runs as its own task.
    let (said, mut next) = mpsc::channel(WAITING);
    let driving = tokio::spawn(async move {
        loop {
            match poll_fn(|context| connection.poll_message(context)).await {
                Some(Ok(AsyncMessage::Notification(word))) => {
                    if said.send(word.payload().to_owned()).await.is_err() {
                        return;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            }
        }
    });
    let driving = tokio_util::task::AbortOnDropHandle::new(driving);
    client.batch_execute(&format!("LISTEN {channel}")).await.map_err(failed)?;
    // Notifications sent before this moment were missed.
    let mut missed = true;
    loop {
        if missed && to.send(Heard::Gap).await.is_err() {
            break;
        }
        let word = tokio::select! {
            word = next.recv() => word,
            () = to.closed() => None,
        };
        let Some(word) = word else { break };
        match word.parse() {
            Ok(app) => missed = to.try_send(Heard::App(app)).is_err(),
            Err(_) => missed = true,
        }
    }
    drop(driving);
    Ok(())
}

/// Polls until the receiver is dropped, where connections share sessions and cannot listen.
pub(super) fn poll(db: Db, topic: Topic) -> mpsc::Receiver<Heard> {
    let (to, heard) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut seen = None;
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = to.closed() => return,
            }
            let sql = topic.mark();
            let mark = db.read(move |tx| Box::pin(async move { tx.query_one(sql, &[]).await?.text(0) })).await.ok();
            if mark == seen {
                continue;
            }
            // A full channel means that the listener will look anyway.
            if mark.is_some() && matches!(to.try_send(Heard::Gap), Err(mpsc::error::TrySendError::Closed(_))) {
                return;
            }
            seen = mark;
        }
    });
    heard
}
