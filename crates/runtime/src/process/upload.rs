//! Sends a request body that does not fit into the first write. It runs in a separate task so that
//! the worker's response can be read in the meantime. Otherwise a client that sends everything
//! before it reads anything would deadlock.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::OwnedWriteHalf;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::frames::{BODY, CANCEL, FrameHeader};
use crate::executor::RequestBody;

/// Large enough that a worker needs only a few reads.
const PIECE: usize = 256 << 10;

pub(crate) struct Upload {
    task: JoinHandle<Uploaded>,
    stop: CancellationToken,
}

/// What applies to every frame of a request's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub id: u64,
    /// Timeout of one write.
    pub timeout: Duration,
}

pub(crate) struct Uploaded {
    pub writer: OwnedWriteHalf,
    pub outcome: Result<(), UploadFault>,
}

pub(crate) enum UploadFault {
    /// The caller's side failed. The worker was notified to drop the request, and the connection is
    /// intact.
    Body { problem: String, too_large: bool },
    /// The worker's side failed: the written data ends in the middle.
    Write,
}

impl Upload {
    pub fn start<B: RequestBody>(
        on: &tokio::runtime::Handle,
        writer: OwnedWriteHalf,
        first: Option<Bytes>,
        body: B,
        terms: Terms,
    ) -> Self {
        let stop = CancellationToken::new();
        let task = on.spawn(send(writer, first, body, terms, stop.clone()));
        Self { task, stop }
    }

    /// Ends the body where it is. The rest is not wanted.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// `None` means that the task is gone, and the writer with it.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Uploaded>> {
        Pin::new(&mut self.task).poll(cx).map(Result::ok)
    }

    /// Returns the writer if the connection is still intact.
    pub async fn settle(self) -> Option<OwnedWriteHalf> {
        self.stop();
        let uploaded = self.task.await.ok()?;
        (!matches!(uploaded.outcome, Err(UploadFault::Write))).then_some(uploaded.writer)
    }
}

async fn send<B: RequestBody>(
    mut writer: OwnedWriteHalf,
    first: Option<Bytes>,
    body: B,
    terms: Terms,
    stop: CancellationToken,
) -> Uploaded {
    let mut body = body.map_err(|error| body_fault(error.into()));
    let mut problem = None;
    let mut next = first;
    let written = async {
        loop {
            if let Some(piece) = next.take() {
                write_pieces(&mut writer, piece, terms).await?;
            }
            let read = tokio::select! {
                biased;
                () = stop.cancelled() => break tell_cancelled(&mut writer, terms).await,
                frame = body.frame() => frame,
            };
            match read {
                Some(Ok(frame)) => next = frame.into_data().ok().filter(|data| !data.is_empty()),
                Some(Err(fault)) => {
                    problem = Some(fault);
                    break tell_cancelled(&mut writer, terms).await;
                }
                None => break write_frame(&mut writer, BODY, true, &[], terms).await,
            }
        }
    }
    .await;
    let outcome = match (written, problem) {
        (Err(_), _) => Err(UploadFault::Write),
        (Ok(()), Some(problem)) => Err(problem),
        (Ok(()), None) => Ok(()),
    };
    Uploaded { writer, outcome }
}

pub(crate) fn body_fault(error: Box<dyn std::error::Error + Send + Sync>) -> UploadFault {
    let too_large = error.is::<LengthLimitError>()
        || std::iter::successors(error.source(), |inner| inner.source()).any(|inner| inner.is::<LengthLimitError>());
    UploadFault::Body { problem: error.to_string(), too_large }
}

/// Signals the cancellation before the end, so that a truncated body does not look complete.
async fn tell_cancelled(writer: &mut OwnedWriteHalf, terms: Terms) -> io::Result<()> {
    write_frame(writer, CANCEL, false, &[], terms).await?;
    write_frame(writer, BODY, true, &[], terms).await
}

async fn write_pieces(writer: &mut OwnedWriteHalf, mut data: Bytes, terms: Terms) -> io::Result<()> {
    while !data.is_empty() {
        let piece = data.split_to(data.len().min(PIECE));
        write_frame(writer, BODY, false, &piece, terms).await?;
    }
    Ok(())
}

pub(crate) async fn write_frame(
    writer: &mut OwnedWriteHalf,
    kind: u8,
    end: bool,
    payload: &[u8],
    terms: Terms,
) -> io::Result<()> {
    let header = FrameHeader::encode(kind, end, payload.len(), terms.id).ok_or(io::ErrorKind::InvalidInput)?;
    tokio::time::timeout(terms.timeout, write_all(writer, &mut [IoSlice::new(&header), IoSlice::new(payload)]))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
        .map_err(|partial| partial.error)
}

pub(crate) struct WriteFault {
    pub error: io::Error,
    /// Nothing has reached the other side.
    pub nothing_sent: bool,
}

pub(crate) async fn write_all(writer: &mut OwnedWriteHalf, mut slices: &mut [IoSlice<'_>]) -> Result<(), WriteFault> {
    let mut nothing_sent = true;
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match writer.write_vectored(slices).await {
            Ok(0) => return Err(WriteFault { error: io::ErrorKind::WriteZero.into(), nothing_sent }),
            Ok(written) => {
                nothing_sent = false;
                IoSlice::advance_slices(&mut slices, written);
            }
            Err(error) => return Err(WriteFault { error, nothing_sent }),
        }
    }
    Ok(())
}
