//! What a build wrote, on its way to whoever waits and into the store.

use bytes::Bytes;
use milepost_model::build::BuildEvent;
use tokio::sync::mpsc;

/// Tells the lines as they come, and answers all of them as a text. The runtime bounds how much that is.
pub(super) async fn pass_on(mut lines: mpsc::Receiver<String>, to: &mpsc::Sender<BuildEvent>) -> Bytes {
    let mut text = String::new();
    while let Some(line) = lines.recv().await {
        text.push_str(&line);
        text.push('\n');
        // Whoever asked may be gone; then this is about to be dropped.
        let _ = to.send(BuildEvent::Log { line }).await;
    }
    text.into()
}
