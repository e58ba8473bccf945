//! Drains the bodies of rejected requests, within limits. Clients of v1 send the whole body before
//! they read the response, and treat a closed connection as a server failure.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use futures::stream::{self, Stream, StreamExt};

const MOST_HEARD: usize = 256 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

struct Incoming {
    body: BodyDataStream,
    begun: bool,
    ended: bool,
}

pub(super) async fn hear_out(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // A client that sent `Expect` gets the response before it sends the body.
    let asks_first = parts.headers.contains_key(EXPECT);
    let incoming = Arc::new(Mutex::new(Incoming { body: body.into_data_stream(), begun: false, ended: false }));
    let shown = Body::from_stream(chunks(Arc::clone(&incoming)));
    let response = next.run(Request::from_parts(parts, shown)).await;
    let (begun, ended) = {
        let incoming = incoming.lock().unwrap_or_else(PoisonError::into_inner);
        (incoming.begun, incoming.ended)
    };
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if refused && !ended && (begun || !asks_first) {
        let reading = async {
            let mut rest = chunks(incoming);
            let mut heard = 0;
            while let Some(Ok(chunk)) = rest.next().await {
                heard += chunk.len();
                if heard > MOST_HEARD {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(PATIENCE, reading).await;
    }
    response
}

fn chunks(incoming: Arc<Mutex<Incoming>>) -> impl Stream<Item = Result<bytes::Bytes, axum::Error>> + Unpin {
    stream::poll_fn(move |context| {
        let mut incoming = incoming.lock().unwrap_or_else(PoisonError::into_inner);
        incoming.begun = true;
        let next = incoming.body.poll_next_unpin(context);
        incoming.ended |= matches!(next, Poll::Ready(None | Some(Err(_))));
        next
    })
}
