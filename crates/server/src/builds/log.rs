//! Sends a build's output to the client that waits for it, and collects it for storage.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use milepost_model::build::BuildEvent;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;

/// How long one event may wait for the reader before the reader counts as stalled.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for the final event, and for all lines left when the build ends.
const LAST_PATIENCE: Duration = Duration::from_secs(30);

/// The client that requested a build. A client that stops reading loses lines, but never blocks the
/// build.
pub(super) struct Listener {
    to: mpsc::Sender<BuildEvent>,
    stalled: AtomicBool,
    patience: Duration,
    last_patience: Duration,
}

impl Listener {
    pub(super) fn new(to: mpsc::Sender<BuildEvent>) -> Self {
        Self { to, stalled: AtomicBool::new(false), patience: PATIENCE, last_patience: LAST_PATIENCE }
    }

    // Ignores errors: if the client is gone, the build is about to be dropped.
    pub(super) async fn tell(&self, event: BuildEvent) {
        if self.stalled.load(Ordering::Relaxed) {
            let _ = self.to.try_send(event);
        } else if let Err(SendTimeoutError::Timeout(_)) = self.to.send_timeout(event, self.patience).await {
            self.stalled.store(true, Ordering::Relaxed);
        }
    }

    pub(super) async fn tell_last(&self, event: BuildEvent) {
        let _ = self.to.send_timeout(event, self.last_patience).await;
    }
}

/// Forwards the lines as they arrive and returns them all as one text. The text is always complete,
/// however slowly the client reads. The runtime bounds its size.
pub(super) async fn pass_on(mut lines: mpsc::Receiver<String>, to: &Listener) -> Bytes {
    let (queue, mut queued) = mpsc::unbounded_channel();
    let collect = async move {
        let mut text = String::new();
        while let Some(line) = lines.recv().await {
            text.push_str(&line);
            text.push('\n');
            let _ = queue.send(line);
        }
        text
    };
    let mut hand_on = std::pin::pin!(async {
        while let Some(line) = queued.recv().await {
            to.tell(BuildEvent::Log { line }).await;
        }
    });
    let mut collect = std::pin::pin!(collect);
    let mut handed_on = false;
    let text = loop {
        tokio::select! {
            text = &mut collect => break text,
            () = &mut hand_on, if !handed_on => handed_on = true,
        }
    };
    if !handed_on {
        let _ = tokio::time::timeout(to.last_patience, hand_on).await;
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn listener(patience: Duration, last_patience: Duration) -> (Listener, mpsc::Receiver<BuildEvent>) {
        let (to, events) = mpsc::channel(2);
        (Listener { patience, last_patience, ..Listener::new(to) }, events)
    }

    async fn write(lines: mpsc::Sender<String>) {
        for number in 0..1_000 {
            lines.send(number.to_string()).await.expect("lines are taken");
        }
    }

    #[tokio::test]
    async fn stalled_reader_loses_lines_but_the_log_is_complete() {
        let (listener, mut events) = listener(Duration::from_millis(20), LONG);
        let (sender, lines) = mpsc::channel(1);
        let (text, ()) =
            tokio::time::timeout(LONG / 2, async { tokio::join!(pass_on(lines, &listener), write(sender)) })
                .await
                .expect("the reader has ended");
        assert_eq!(String::from_utf8_lossy(&text).lines().count(), 1_000);
        for line in ["0", "1"] {
            assert_eq!(events.recv().await, Some(BuildEvent::Log { line: line.to_owned() }));
        }
        // The client reads again and receives the final event.
        listener.tell_last(BuildEvent::Waiting).await;
        assert_eq!(events.recv().await, Some(BuildEvent::Waiting));
    }

    #[tokio::test]
    async fn waiting_for_a_slow_reader_is_bounded() {
        let (listener, _events) = listener(LONG, Duration::from_millis(20));
        let (sender, lines) = mpsc::channel(1);
        let (text, ()) =
            tokio::time::timeout(LONG / 2, async { tokio::join!(pass_on(lines, &listener), write(sender)) })
                .await
                .expect("the end is bounded");
        assert_eq!(String::from_utf8_lossy(&text).lines().count(), 1_000);
        tokio::time::timeout(LONG / 2, listener.tell_last(BuildEvent::Waiting)).await.expect("the last one too");
    }
}
