//! A web server for the files of a directory, with injectable faults.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio_util::task::AbortOnDropHandle;

#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    None,
    /// Responds to every file with this status.
    Status(u16),
    /// Redirects every file to the same path on another host.
    Elsewhere(SocketAddr),
    /// Breaks the connection in the middle of artifacts.
    Broken,
}

pub struct Web {
    address: SocketAddr,
    fault: Arc<Mutex<Fault>>,
    requests: Arc<Mutex<Vec<(String, u16)>>>,
    _serving: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct Shared {
    root: PathBuf,
    fault: Arc<Mutex<Fault>>,
    requests: Arc<Mutex<Vec<(String, u16)>>>,
}

impl Web {
    pub async fn serve(root: PathBuf) -> Self {
        let (fault, requests) = (Arc::new(Mutex::new(Fault::None)), Arc::default());
        let shared = Shared { root, fault: Arc::clone(&fault), requests: Arc::clone(&requests) };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(shared);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, fault, requests, _serving: AbortOnDropHandle::new(serving) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn channel(&self) -> String {
        format!("http://{}/acme/shop/stable", self.address)
    }

    pub fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// The paths requested since the last call.
    pub fn requests(&self) -> Vec<String> {
        self.answers().into_iter().map(|(path, _)| path).collect()
    }

    /// Like [`Self::requests`], with the status of each response.
    pub fn answers(&self) -> Vec<(String, u16)> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

async fn answer(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
    let response = answer_to(&shared, &uri, &headers);
    shared.requests.lock().unwrap().push((uri.path().to_owned(), response.status().as_u16()));
    response
}

fn answer_to(shared: &Shared, uri: &Uri, headers: &HeaderMap) -> Response {
    let fault = shared.fault.lock().unwrap().clone();
    match fault {
        Fault::Status(status) => return StatusCode::from_u16(status).unwrap().into_response(),
        Fault::Elsewhere(address) => {
            let to = format!("http://{address}{}", uri.path());
            return (StatusCode::FOUND, [(header::LOCATION, to)]).into_response();
        }
        Fault::None | Fault::Broken => {}
    }
    let Ok(bytes) = std::fs::read(shared.root.join(uri.path().trim_start_matches('/'))) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if fault == Fault::Broken && uri.path().contains("/artifacts/") {
        let half = Bytes::copy_from_slice(&bytes[..bytes.len() / 2]);
        let length = [(header::CONTENT_LENGTH, bytes.len().to_string())];
        let pieces = futures::stream::unfold(Some(half), |half| async move {
            if let Some(half) = half {
                return Some((Ok(half), None));
            }
            // Gives the first half time to be sent, since there is no notification for it.
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            Some((Err(std::io::Error::other("cut")), None))
        });
        return (length, Body::from_stream(pieces)).into_response();
    }
    let tag = format!("\"{}\"", milepost_model::Digest::of(&bytes).short());
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(header::ETAG, tag)], bytes).into_response()
}
