//! A worker of the runtime, started and called without the server: the baseline of the gateway's
//! overhead.
//!
//! It speaks version 1 of the worker protocol, with one frame in each direction
//! (`docs/decisions/005-runtime.md` describes version 2). The worker has no sandbox here.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use command_fds::{CommandFdExt, FdMapping};
use serde_json::json;

use super::place;
use super::process::{Running, command};
use super::relay::Relay;

const DESCRIPTOR: i32 = 3;
const DEADLINE: Duration = Duration::from_secs(30);
const END: u8 = 1;
const INIT: u8 = 1;
const READY: u8 = 2;
const REQUEST: u8 = 4;
const BODY: u8 = 5;
const RESPONSE: u8 = 6;

pub struct Worker {
    process: Running,
    /// The relay in front of the worker, if there is one.
    relay: Option<Relay>,
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    request: Vec<u8>,
}

trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// How a worker is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    OverItsSocket,
    ThroughRelay,
}

/// The path of a worker program in the repository.
pub fn script(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/runtime/workers").join(file)
}

impl Worker {
    /// Starts `line` with the socket, and initialises it with the function in `code`.
    pub fn start(mut line: Command, way: Way, folder: &Path, code: &Path, entrypoint: &str) -> Result<Self> {
        let socket = folder.join("worker.sock");
        let listener = UnixListener::bind(&socket).context("could not make the worker's socket")?;
        line.env_clear().env("PATH", place::PATH).env("HOME", folder).env("LANG", "C.UTF-8");
        line.fd_mappings(vec![FdMapping { parent_fd: OwnedFd::from(listener), child_fd: DESCRIPTOR }])?;
        let log = folder.join("worker.log");
        let process = Running::start(line, &log)?;
        let mut relay = None;
        let stream: Box<dyn Stream> = match way {
            Way::OverItsSocket => {
                let stream = UnixStream::connect(&socket)?;
                stream.set_read_timeout(Some(DEADLINE))?;
                Box::new(stream)
            }
            Way::ThroughRelay => {
                let stream = relay.insert(Relay::start(&socket, &folder.join("relay.log"))?).connect()?;
                stream.set_read_timeout(Some(DEADLINE))?;
                Box::new(stream)
            }
        };
        let mut worker = Self { process, relay, stream, buffer: Vec::new(), request: request()? };
        let init = json!({
            "protocol": 1, "entrypoint": entrypoint, "code": code, "variables": {}, "secrets": {}, "config": {},
            "function": "hello", "version": 1, "app": "bench", "threads": 1,
        });
        let payload = serde_json::to_vec(&init)?;
        worker.stream.write_all(&frame(INIT, 0, &payload)?)?;
        let said = match worker.read_frame() {
            Ok((READY, _, _)) => return Ok(worker),
            Ok((_, _, payload)) => String::from_utf8_lossy(payload).into_owned(),
            Err(error) => format!("{error:#}"),
        };
        bail!("the worker did not become ready: {said}\n{}", std::fs::read_to_string(&log).unwrap_or_default());
    }

    /// All processes that take part in a call.
    pub fn pids(&self) -> Vec<u32> {
        [self.process.pid()].into_iter().chain(self.relay.as_ref().map(Relay::pid)).collect()
    }

    /// Sends one request. Returns the duration and the body of the response.
    pub fn call(&mut self) -> Result<(Duration, Vec<u8>)> {
        let started = Instant::now();
        self.stream.write_all(&self.request)?;
        let (kind, mut ended, payload) = self.read_frame()?;
        if kind != RESPONSE {
            bail!("the worker did not answer: {}", String::from_utf8_lossy(payload));
        }
        let head: [u8; 4] = payload.first_chunk().copied().context("a response without a head")?;
        let mut body = payload.get(4 + u32::from_le_bytes(head) as usize..).unwrap_or_default().to_vec();
        while !ended {
            let (kind, last, payload) = self.read_frame()?;
            if kind != BODY {
                bail!("the worker broke off: {}", String::from_utf8_lossy(payload));
            }
            body.extend_from_slice(payload);
            ended = last;
        }
        Ok((started.elapsed(), body))
    }

    /// Returns the frame's kind, whether the body is complete, and the payload. There is only one
    /// request at a time, so nothing follows a frame before it was read.
    fn read_frame(&mut self) -> Result<(u8, bool, &[u8])> {
        self.buffer.clear();
        let mut chunk = [0; 16 * 1024];
        loop {
            if let Some(header) = self.buffer.first_chunk::<8>().copied() {
                let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
                if self.buffer.len() > 8 + length {
                    bail!("the worker sent two frames at once, which this client does not expect");
                }
                if self.buffer.len() == 8 + length {
                    return Ok((header[4], header[5] & END != 0, &self.buffer[8..]));
                }
            }
            let count = self.stream.read(&mut chunk)?;
            if count == 0 {
                bail!("the worker closed the connection");
            }
            self.buffer.extend_from_slice(&chunk[..count]);
        }
    }
}

/// The interpreter with its worker program, for [`Worker::start`].
pub fn python() -> Result<Command> {
    let mut line = command(place::program("python3")?);
    line.args(["-I", "-B", "-X", "utf8"]).arg(script("python/milepost_worker.py"));
    Ok(line)
}

pub fn node() -> Result<Command> {
    let mut line = command(place::program("node")?);
    line.arg(script("node/milepost_worker.mjs"));
    Ok(line)
}

/// The same request as the gateway sends it.
fn request() -> Result<Vec<u8>> {
    let head = [
        "GET",
        "/",
        "host",
        "bench.localhost",
        "x-forwarded-for",
        "127.0.0.1",
        "x-forwarded-host",
        "bench.localhost",
        "x-forwarded-proto",
        "http",
        "x-request-id",
        "0192f0c1a2b3c4d5",
        ":id",
        "0192f0c1a2b3c4d5",
        ":release",
        "abcdef",
        ":call",
        "0123456789abcdef0123456789abcdef0123456789abcdef",
        ":route",
        "/",
        ":client",
        "127.0.0.1",
        ":deadline",
        "60000",
    ]
    .join("\0");
    let mut payload = u32::try_from(head.len())?.to_le_bytes().to_vec();
    payload.extend_from_slice(head.as_bytes());
    frame(REQUEST, END, &payload)
}

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Result<Vec<u8>> {
    let mut frame = u32::try_from(payload.len())?.to_le_bytes().to_vec();
    frame.extend_from_slice(&[kind, flags, 0, 0]);
    frame.extend_from_slice(payload);
    Ok(frame)
}
