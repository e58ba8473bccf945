//! Notifications of changes from other servers over the same PostgreSQL. A broken connection may
//! lose some: the listener then receives [`Heard::Gap`] and must read the state again.

use std::future::poll_fn;
use std::time::Duration;

use milepost_model::Backoff;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Config, NoTls};

/// What a listener receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Something in this app changed.
    App(milepost_model::AppName),
    /// Notifications may have been missed.
    Gap,
}

pub(super) const CHANNEL: &str = "milepost";
/// A separate channel, because a notification on the other one makes servers read an app again.
/// Payloads are empty, so each arrives as [`Heard::Gap`].
pub(super) const EXECUTIONS: &str = "milepost_executions";
/// Capacity of the channel. A listener that falls behind receives a gap instead.
const WAITING: usize = 1024;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));

/// Listens until the receiver is dropped.
pub(super) fn start(config: Config, channel: &'static str) -> mpsc::Receiver<Heard> {
    let (to, heard) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut backoff = BACKOFF;
        while !to.is_closed() {
            match listen(&config, channel, &to).await {
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

async fn listen(config: &Config, channel: &str, to: &mpsc::Sender<Heard>) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
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
    client.batch_execute(&format!("LISTEN {channel}")).await?;
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
    driving.abort();
    Ok(())
}
