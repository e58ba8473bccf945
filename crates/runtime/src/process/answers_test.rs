//! A caller gets the response to its own request or an error, whatever the process at the other end
//! of the connection does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use milepost_model::{Digest, Timestamp};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::ProcessSlot;
use super::frame_slot::{ANSWERED_AGAIN, FrameSlot};
use super::frames::{BODY, ERROR, FrameHeader, HEADER, REQUEST, RESPONSE};
use super::worker::Worker;
use crate::call::CallContext;
use crate::executor::{Call, Failure, Slot as _, SlotHome, StopReason};
use crate::host::{Host, HostError, LogLine, Package};

/// What a process does after reading a request. Each act sends one or more frames.
#[derive(Debug, Clone)]
enum Act {
    /// The right response, in this many frames.
    Answer { frames: usize },
    /// The response to the previous request, with its id.
    Before,
    /// A response with a made-up id.
    Forged { id: u64 },
    /// Holds this response back and sends it when the next request arrives.
    Hold,
    /// The right response, with one frame of another request in the middle.
    Mixed,
    /// The right response, cut off in the middle of a frame. Then the connection closes.
    Cut { at: usize },
    /// An error frame of the previous request.
    OldError,
    /// The right response, on another connection.
    Elsewhere,
    /// Random extra bytes.
    Noise { length: usize },
    /// Yields to the server, so that what follows arrives on an idle connection.
    Pause,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (1..4_usize).prop_map(|frames| Act::Answer { frames }),
        2 => Just(Act::Before),
        1 => any::<u64>().prop_map(|id| Act::Forged { id }),
        2 => Just(Act::Hold),
        1 => Just(Act::Mixed),
        1 => (1..60_usize).prop_map(|at| Act::Cut { at }),
        1 => Just(Act::OldError),
        2 => Just(Act::Elsewhere),
        1 => (1..40_usize).prop_map(|length| Act::Noise { length }),
        2 => Just(Act::Pause),
    ]
}

fn frame(kind: u8, end: bool, id: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = FrameHeader::encode(kind, end, payload.len(), id).unwrap().to_vec();
    out.extend_from_slice(payload);
    out
}

/// The response to a request: its own path, three times.
fn answer(id: u64, name: &str, frames: usize) -> Vec<u8> {
    let mut first = 3_u32.to_le_bytes().to_vec();
    first.extend_from_slice(b"200");
    first.extend_from_slice(name.as_bytes());
    let mut out = frame(
        RESPONSE,
        frames == 1,
        id,
        &[&first[..], if frames == 1 { name.as_bytes() } else { b"" }, if frames == 1 { name.as_bytes() } else { b"" }]
            .concat(),
    );
    for at in 1..frames {
        let last = at == frames - 1;
        let piece = if frames == 2 { name.repeat(2) } else { name.to_owned() };
        out.extend(frame(BODY, last, id, piece.as_bytes()));
    }
    out
}

/// Reads requests and acts out the script until it closes the connection.
async fn play(mut wire: UnixStream, script: Arc<Mutex<std::vec::IntoIter<Vec<Act>>>>, elsewhere: Arc<Mutex<Vec<u8>>>) {
    let (mut before, mut held) = ((0, "nothing".to_owned()), Vec::new());
    loop {
        let stray = std::mem::take(&mut *elsewhere.lock().unwrap());
        let mut header = [0; HEADER];
        if wire.write_all(&stray).await.is_err() || wire.read_exact(&mut header).await.is_err() {
            return;
        }
        let header = FrameHeader::peek(&header).unwrap();
        assert_eq!((header.kind, header.end), (REQUEST, true));
        let mut payload = vec![0; header.length];
        wire.read_exact(&mut payload).await.unwrap();
        let name = String::from_utf8_lossy(payload[4..].split(|byte| *byte == 0).nth(1).unwrap()).into_owned();
        let acts = script.lock().unwrap().next().unwrap_or_else(|| vec![Act::Answer { frames: 1 }]);
        let mut out = std::mem::take(&mut held);
        let mut answered = false;
        for act in acts {
            match act {
                Act::Answer { frames } => {
                    out.extend(answer(header.id, &name, frames));
                    answered = true;
                }
                Act::Before => out.extend(answer(before.0, &before.1, 1)),
                Act::Forged { id } => out.extend(answer(id, "/forged", 1)),
                Act::Hold => held.extend(answer(header.id, &name, 1)),
                Act::Mixed => {
                    let whole = answer(header.id, &name, 2);
                    out.extend_from_slice(&whole[..HEADER + 7 + name.len()]);
                    out.extend(frame(BODY, true, before.0, before.1.as_bytes()));
                    answered = true;
                }
                Act::Cut { at } => {
                    let whole = answer(header.id, &name, 2);
                    out.extend_from_slice(&whole[..at.min(whole.len() - 1)]);
                    let _ = wire.write_all(&out).await;
                    return;
                }
                Act::OldError => out.extend(frame(ERROR, false, before.0, br#"{"message":"of another"}"#)),
                Act::Elsewhere => elsewhere.lock().unwrap().extend(answer(header.id, &name, 1)),
                Act::Noise { length } => out.extend(vec![7; length]),
                Act::Pause => {
                    if wire.write_all(&std::mem::take(&mut out)).await.is_err() {
                        return;
                    }
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
        if wire.write_all(&out).await.is_err() || !answered {
            return;
        }
        before = (header.id, name);
    }
}

struct Mute;

impl Host for Mute {
    fn package(&self, _: Digest) -> BoxFuture<'_, Result<Package, HostError>> {
        Box::pin(async { Err(HostError("there are no packages here".to_owned())) })
    }
    fn open_secret(&self, _: &crate::SealedValue) -> Result<String, HostError> {
        Err(HostError("there are no secrets here".to_owned()))
    }
    fn log(&self, _: LogLine) {}
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// Where a slot goes, and the reports per request.
#[derive(Default)]
struct Kept {
    slot: Option<ProcessSlot>,
    reports: Vec<(String, String)>,
}

struct Home(Arc<Mutex<Kept>>);

impl SlotHome<ProcessSlot> for Home {
    fn give_back(self, slot: ProcessSlot) {
        self.0.lock().unwrap().slot = Some(slot);
    }
    fn broken(self, _: StopReason) {}
    fn report(&self, request: &str, message: &str) {
        self.0.lock().unwrap().reports.push((request.to_owned(), message.to_owned()));
    }
}

/// The outcome of a call.
#[derive(Debug, PartialEq)]
enum End {
    Body(String),
    Failed(String),
    NotSent,
}

async fn call(slot: ProcessSlot, name: &str, kept: &Arc<Mutex<Kept>>) -> End {
    let request = http::Request::get(name).body(Full::new(Bytes::new())).unwrap();
    let context = CallContext { request_id: name.into(), ..CallContext::default() };
    match slot.call(Call::new(request, context), Home(kept.clone())).await {
        Ok(response) => match response.into_body().collect().await {
            Ok(body) => End::Body(String::from_utf8(body.to_bytes().to_vec()).unwrap()),
            Err(error) => End::Failed(error.to_string()),
        },
        Err(Failure::Failed(error)) => End::Failed(error.to_string()),
        Err(Failure::NotSent(_)) => End::NotSent,
    }
}

struct Stand {
    worker: Arc<Worker>,
    script: Arc<Mutex<std::vec::IntoIter<Vec<Act>>>>,
    elsewhere: Arc<Mutex<Vec<u8>>>,
}

impl Stand {
    fn new(script: Vec<Vec<Act>>) -> Self {
        let worker = Worker::played(Arc::new(Mute)).unwrap();
        Self { worker, script: Arc::new(Mutex::new(script.into_iter())), elsewhere: Arc::default() }
    }

    fn slot(&self) -> ProcessSlot {
        let (ours, theirs) = UnixStream::pair().unwrap();
        tokio::spawn(play(theirs, self.script.clone(), self.elsewhere.clone()));
        ProcessSlot::Frames(Box::new(FrameSlot::new(ours, Duration::from_secs(5), self.worker.clone())))
    }

    /// Uses two connections to one process in turn. Replaces a broken one, as the pool does.
    async fn run(&self, requests: usize) -> Vec<End> {
        let kept = [Arc::new(Mutex::new(Kept::default())), Arc::new(Mutex::new(Kept::default()))];
        let mut ends = Vec::new();
        for at in 0..requests {
            let kept = &kept[at % 2];
            let name = format!("/{at}/{}", "x".repeat(at % 7));
            ends.push(loop {
                let slot = kept.lock().unwrap().slot.take().unwrap_or_else(|| self.slot());
                match call(slot, &name, kept).await {
                    End::NotSent => {}
                    end => break end,
                }
            });
        }
        ends
    }
}

fn wanted(at: usize) -> String {
    format!("/{at}/{}", "x".repeat(at % 7)).repeat(3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariant_9_a_caller_gets_its_own_response_or_an_error(
        script in prop::collection::vec(prop::collection::vec(act(), 1..4), 1..12)
    ) {
        let honest = script.iter().take_while(|acts| matches!(acts[..], [Act::Answer { .. }])).count();
        let requests = script.len() + 2;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ends = runtime.block_on(async { Stand::new(script).run(requests).await });
        for (at, end) in ends.iter().enumerate() {
            match end {
                End::Body(body) => prop_assert_eq!(body, &wanted(at), "request {}", at),
                End::Failed(_) | End::NotSent => prop_assert!(at >= honest, "request {}: {:?}", at, end),
            }
        }
    }
}

#[tokio::test]
async fn a_repeated_response_sends_the_next_call_to_another_instance() {
    let stand = Stand::new(vec![
        vec![Act::Answer { frames: 1 }, Act::Pause, Act::Before],
        vec![Act::Answer { frames: 1 }, Act::Pause, Act::Answer { frames: 1 }],
    ]);
    let kept = Arc::new(Mutex::new(Kept::default()));
    let slot = stand.slot();
    // The first request has no previous one: what follows its response has the id of the handshake.
    assert_eq!(call(slot, "/alice", &kept).await, End::Body("/alice".repeat(3)));
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    let slot = kept.lock().unwrap().slot.take().unwrap();
    assert_eq!(call(slot, "/bob", &kept).await, End::NotSent);
    assert_eq!(call(stand.slot(), "/bob", &kept).await, End::Body("/bob".repeat(3)));
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    let slot = kept.lock().unwrap().slot.take().unwrap();
    assert_eq!(call(slot, "/carol", &kept).await, End::NotSent);
    let reports = std::mem::take(&mut kept.lock().unwrap().reports);
    let said = |name: &str| (name.to_owned(), ANSWERED_AGAIN.to_owned());
    assert_eq!(reports, [said(""), said("/bob")]);
}

#[tokio::test]
async fn never_takes_a_late_response_for_the_running_request() {
    let stand = Stand::new(vec![vec![Act::Hold, Act::Answer { frames: 1 }]]);
    let kept = Arc::new(Mutex::new(Kept::default()));
    assert_eq!(call(stand.slot(), "/alice", &kept).await, End::Body("/alice".repeat(3)));
    let slot = kept.lock().unwrap().slot.take().unwrap();
    let End::Failed(message) = call(slot, "/bob", &kept).await else { panic!("bob got an answer") };
    assert!(message.contains("response to another request"), "{message}");
    let reports: Vec<_> = kept.lock().unwrap().reports.iter().map(|(request, _)| request.clone()).collect();
    assert_eq!(reports, ["/alice", "/bob"]);
}
