//! Assigns a waiting worker to a function: sends `init` and expects `ready`, or the reason why not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSlice;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use milepost_model::UnitName;
use milepost_model::spec::Runtime;
use serde::Serialize;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

use super::frames::{Complaint, FAILED, FrameHeader, INIT, MAX_DOCUMENT, PROTOCOL, READY};
use super::worker::Worker;
use crate::executor::StartError;
use crate::function::Function;

#[derive(Serialize)]
struct Init<'a> {
    protocol: u32,
    entrypoint: &'a str,
    code: &'a str,
    variables: &'a BTreeMap<String, String>,
    secrets: &'a BTreeMap<String, String>,
    config: &'a serde_json::Value,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    configmaps: &'a BTreeSet<UnitName>,
    function: &'a str,
    version: i64,
    app: &'a str,
    threads: u32,
    /// The entrypoint is a program that runs once per request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    program: bool,
}

/// Opens the first connection and waits until the worker has loaded the code.
pub(crate) async fn make_ready(
    worker: &Arc<Worker>,
    function: &Function,
    secrets: &BTreeMap<String, String>,
) -> Result<UnixStream, StartError> {
    let code = worker.app_path();
    let init = serde_json::to_vec(&Init {
        protocol: PROTOCOL,
        entrypoint: &function.entrypoint,
        code: &code.to_string_lossy(),
        variables: &function.variables,
        secrets,
        config: &function.config,
        configmaps: &function.configmaps,
        function: function.name.as_str(),
        version: function.number,
        app: function.app.as_str(),
        threads: function.scale.concurrency.max(1),
        program: function.runtime == Runtime::Binary,
    })
    .map_err(|error| StartError::new(format!("its settings cannot be written as JSON: {error}")))?;
    let mut stream = match UnixStream::connect(&worker.socket).await {
        Ok(stream) => stream,
        Err(_) => return Err(gone(worker).await),
    };
    if send(&mut stream, &init).await.is_err() {
        return Err(gone(worker).await);
    }
    match receive(&mut stream).await {
        Ok(Answer::Ready) => Ok(stream),
        Ok(Answer::Failed(complaint)) => Err(StartError::new(complaint.message)),
        Ok(Answer::Surplus) => Err(StartError::new(
            "a second process answered for its worker; code that forks while it is loaded ends the child with os._exit()",
        )),
        Ok(Answer::Nonsense(kind)) => Err(StartError::new(format!("its worker sent a frame of kind {kind}"))),
        Err(_) => Err(gone(worker).await),
    }
}

async fn send(stream: &mut UnixStream, init: &[u8]) -> std::io::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let header = FrameHeader::encode(INIT, false, init.len(), 0).ok_or(std::io::ErrorKind::InvalidInput)?;
    let sent = stream.write_vectored(&[IoSlice::new(&header), IoSlice::new(init)]).await?;
    let in_header = sent.min(header.len());
    stream.write_all(&header[in_header..]).await?;
    stream.write_all(&init[sent - in_header..]).await
}

enum Answer {
    Ready,
    Failed(Complaint),
    /// More than one frame, before any request.
    Surplus,
    Nonsense(u8),
}

async fn receive(stream: &mut UnixStream) -> std::io::Result<Answer> {
    let mut input = BytesMut::with_capacity(1024);
    loop {
        if let Some(frame) = FrameHeader::peek(&input) {
            if frame.length > MAX_DOCUMENT || !matches!(frame.kind, READY | FAILED) {
                return Ok(Answer::Nonsense(frame.kind));
            }
            if input.len() >= super::frames::HEADER + frame.length {
                input.advance(super::frames::HEADER);
                return Ok(match frame.kind {
                    _ if input.len() > frame.length => Answer::Surplus,
                    READY => Answer::Ready,
                    _ => Answer::Failed(Complaint::read(&input)),
                });
            }
        }
        if stream.read_buf(&mut input).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn gone(worker: &Worker) -> StartError {
    let how = worker.how_it_ended().await;
    let reason = format!("its process ended while it was loading the code ({how})");
    StartError { died: true, ..StartError::new(reason) }
}
