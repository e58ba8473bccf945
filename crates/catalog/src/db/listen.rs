//! Word of changes from other servers over the same PostgreSQL. It may be lost (a connection breaks): whoever listens is
//! told of the gap and looks for itself.

use std::future::poll_fn;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Config, NoTls};

/// What a listener hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Something of this app changed.
    App(milepost_model::AppName),
    /// Words may have been missed.
    Gap,
}

pub(super) const CHANNEL: &str = "milepost";
/// Apart from the other, since hearing of an app means reading it again. Its words are empty, so it says only "gap": look.
pub(super) const EXECUTIONS: &str = "milepost_executions";
/// A listener that does not keep up hears of a gap instead.
const WAITING: usize = 1024;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Listens until nobody wants to hear any more.
pub(super) fn start(config: Config, channel: &'static str) -> mpsc::Receiver<Heard> {
    let (to, heard) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut pause = FIRST_PAUSE;
        while !to.is_closed() {
            match listen(&config, channel, &to).await {
                Ok(()) => pause = FIRST_PAUSE,
                Err(error) => {
                    tracing::debug!(error = &error as &dyn std::error::Error, "the listener lost its connection");
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = to.closed() => return,
            }
        }
    });
    heard
}

async fn listen(config: &Config, channel: &str, to: &mpsc::Sender<Heard>) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
    // The connection has to be driven for the statement to be answered, so both go on side by side.
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
    // Whatever was said before this moment was said to nobody.
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
