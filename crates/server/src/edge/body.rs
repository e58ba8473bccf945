//! Request bodies as streams.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};

/// Slightly more than what our own client sends in one request.
const MOST: usize = 80 << 20;
const PATIENCE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(1);

/// Drains the body in the background, for a request that was rejected by its head alone, so that
/// the response goes out immediately. A client that sent `Expect` gets the response instead of `100
/// Continue` and sends no body.
pub(crate) fn hear_out_aside(headers: &HeaderMap, body: Body) {
    if headers.contains_key(EXPECT) {
        return;
    }
    drain_aside(body.into_data_stream());
}

/// Drains the rest of a body in the background. The response goes out immediately, and a sender that
/// reads it stops sending.
pub(crate) fn drain_aside<E: Send + 'static>(body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static) {
    // A sender that stopped writing is waiting for the response. With nothing in flight, closing
    // the connection cannot cut the response off.
    let sending = stream::unfold(body, |mut body| async move {
        let chunk = tokio::time::timeout(SILENCE, body.next()).await.ok()??;
        Some((chunk, body))
    });
    tokio::spawn(async move { hear_out(&mut sending.boxed()).await });
}

/// Drains the body of a rejected request. A client that is still sending does not read, and would
/// lose the response if the connection closed. Gives up after a size or time limit.
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
