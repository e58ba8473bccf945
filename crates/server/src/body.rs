//! Bodies of requests as streams.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};

/// What our own client sends in one request, and a little more.
const MOST: usize = 80 << 20;
const PATIENCE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(1);

/// For a request that is refused by its head alone: the answer goes out at once, and what the sender has begun to send is
/// read meanwhile. Who asks before sending gets the answer instead of leave, and sends nothing.
pub(crate) fn hear_out_aside(headers: &HeaderMap, body: Body) {
    if headers.contains_key(EXPECT) {
        return;
    }
    let body = body.into_data_stream();
    // Who has fallen silent is listening: there is nothing on its way that would cut the answer off.
    let sending = stream::unfold(body, |mut body| async move {
        let chunk = tokio::time::timeout(SILENCE, body.next()).await.ok()??;
        Some((chunk, body))
    });
    tokio::spawn(async move { hear_out(&mut sending.boxed()).await });
}

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
