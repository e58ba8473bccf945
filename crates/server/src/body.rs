//! Bodies of requests as streams.

use std::time::Duration;

use bytes::Bytes;
use futures::stream::{Stream, StreamExt};

/// What our own client sends in one request, and a little more.
const MOST: usize = 80 << 20;
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads on after a request was refused. A sender that is still sending does not listen, and closing the connection on
/// it would cost it the answer; one that goes on for too long is cut off all the same.
pub(crate) async fn hear_out<E>(body: &mut (impl Stream<Item = Result<Bytes, E>> + Unpin)) {
    let reading = async {
        let mut read = 0;
        while let Some(Ok(chunk)) = body.next().await {
            read += chunk.len();
            if read > MOST {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, reading).await;
}
