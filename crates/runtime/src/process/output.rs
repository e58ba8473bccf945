//! Reads a worker's standard output and error continuously, splits them into lines and bounds them.
//!
//! A task reads while a call runs. The end of a call reads the rest from the pipes, since a worker
//! flushes before it ends a response. So with one call at a time, each line is attributed to its
//! request.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::unix::pipe;

use crate::function::Function;
use crate::host::{Host, LogLine, LogSource};

/// Bytes of output kept per request.
const KEPT: usize = 256 << 10;
/// Counted per line in addition to its text, because short lines have overhead too.
const LINE: usize = 16;
const LONGEST_LINE: usize = 16 << 10;
/// The capacity of a pipe: no more can have been written before a call ended.
const PIPE: usize = 64 << 10;
/// How many lines outside of any request are kept for the error message of a failed start.
const ASIDE: usize = 5;
/// The prefix of the sandbox's own error messages.
const JAIL: &str = "milepost: ";
/// A worker marks a line that does not belong to the running request with this character, the 16
/// hexadecimal digits of the request's frame id, and this character again. The id cannot be guessed
/// outside of the worker.
const MARK: u8 = 0x1e;
const MARKED: usize = 18;
/// How many past requests a late line can still be attributed to.
const REMEMBERED: usize = 128;
/// Slows down reading from a worker that floods its output, so that only the worker waits.
const FLOOD_PAUSE: Duration = Duration::from_millis(1);

pub(crate) struct Output {
    instance: u64,
    host: Arc<dyn Host>,
    pipes: [(pipe::Receiver, LogSource); 2],
    capture: Mutex<Capture>,
}

#[derive(Default)]
struct Capture {
    owner: Option<Arc<Function>>,
    /// The function takes one call at a time, so lines belong to that call.
    exclusive: bool,
    request: Option<Arc<str>>,
    /// The last requests by frame id, newest last.
    recent: VecDeque<(u64, Arc<str>)>,
    kept: usize,
    dropped: u64,
    unfinished: [Vec<u8>; 2],
    /// Lines outside of any request or from the sandbox, newest last. They give the reason of a
    /// failed start.
    aside: VecDeque<String>,
}

impl Output {
    pub fn new(instance: u64, host: Arc<dyn Host>, stdout: pipe::Receiver, stderr: pipe::Receiver) -> Self {
        let pipes = [(stdout, LogSource::Stdout), (stderr, LogSource::Stderr)];
        Self { instance, host, pipes, capture: Mutex::default() }
    }

    /// Attributes all further output to the function.
    pub fn adopt(&self, function: &Arc<Function>) {
        let mut capture = self.lock();
        capture.owner = Some(function.clone());
        capture.exclusive = function.scale.concurrency <= 1;
    }

    /// `id` is the id of the request's frames, 0 without frames.
    pub fn begin(&self, request: &str, id: u64) {
        let mut capture = self.lock();
        self.tell_dropped(&mut capture);
        capture.kept = 0;
        let request: Arc<str> = request.into();
        if id != 0 {
            if capture.recent.len() == REMEMBERED {
                capture.recent.pop_front();
            }
            capture.recent.push_back((id, request.clone()));
        }
        if capture.exclusive {
            capture.request = Some(request);
        }
    }

    pub fn end(&self) {
        let mut capture = self.lock();
        if !capture.exclusive {
            return;
        }
        self.drain(&mut capture);
        for at in 0..self.pipes.len() {
            self.finish_line(&mut capture, at);
        }
        self.tell_dropped(&mut capture);
        capture.request = None;
        capture.kept = 0;
    }

    /// The last lines outside of any request.
    pub fn aside(&self) -> String {
        let capture = self.lock();
        capture.aside.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
    }

    /// Reads until both pipes reach their end.
    pub async fn follow(&self) {
        tokio::join!(self.follow_pipe(0), self.follow_pipe(1));
        let mut capture = self.lock();
        for at in 0..self.pipes.len() {
            self.finish_line(&mut capture, at);
        }
        self.tell_dropped(&mut capture);
    }

    async fn follow_pipe(&self, at: usize) {
        loop {
            let pipe = &self.pipes[at].0;
            if pipe.readable().await.is_err() {
                return;
            }
            let (outcome, flooding) = {
                let mut capture = self.lock();
                (self.read_some(&mut capture, at, |buffer| pipe.try_read(buffer)), capture.kept >= KEPT)
            };
            match outcome {
                Ok(0) => return,
                Ok(_) if flooding => tokio::time::sleep(FLOOD_PAUSE).await,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads everything in the pipes now. Bypasses Tokio's readiness, which may not cover the
    /// newest bytes.
    fn drain(&self, capture: &mut Capture) {
        for at in 0..self.pipes.len() {
            let pipe = &self.pipes[at].0;
            // On an error the pipe is empty, or at its end, which its reader will detect.
            let _ = self.read_some(capture, at, |buffer| Ok(rustix::io::read(pipe, buffer)?));
        }
    }

    /// Reads at most the capacity of a pipe.
    fn read_some(
        &self,
        capture: &mut Capture,
        at: usize,
        read: impl Fn(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut buffer = [0; 8 << 10];
        let mut total = 0;
        while total < PIPE {
            match read(&mut buffer) {
                Ok(count) => {
                    self.take(capture, at, &buffer[..count]);
                    total += count;
                    if count < buffer.len() {
                        return Ok(total);
                    }
                }
                Err(error) if total == 0 => return Err(error),
                Err(_) => return Ok(total),
            }
        }
        Ok(total)
    }

    fn take(&self, capture: &mut Capture, at: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if capture.kept >= KEPT {
                capture.dropped += (bytes.len() + std::mem::take(&mut capture.unfinished[at]).len()) as u64;
                return;
            }
            let line_end = bytes.iter().position(|byte| *byte == b'\n');
            let room = LONGEST_LINE - capture.unfinished[at].len();
            let length = line_end.unwrap_or(bytes.len());
            if length > room {
                capture.unfinished[at].extend_from_slice(&bytes[..room]);
                bytes = &bytes[room..];
                self.finish_line(capture, at);
                continue;
            }
            capture.unfinished[at].extend_from_slice(&bytes[..length]);
            bytes = &bytes[length..];
            if line_end.is_some() {
                bytes = &bytes[1..];
                self.write_line(capture, at);
            }
        }
    }

    fn finish_line(&self, capture: &mut Capture, at: usize) {
        if !capture.unfinished[at].is_empty() {
            self.write_line(capture, at);
        }
    }

    fn write_line(&self, capture: &mut Capture, at: usize) {
        let mut line = std::mem::take(&mut capture.unfinished[at]);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        capture.kept += line.len() + LINE;
        let request = match marked(&line) {
            Some(id) => {
                line.drain(..MARKED);
                capture.recent.iter().rev().find(|(known, _)| *known == id).map(|(_, request)| request.clone())
            }
            None => capture.request.clone(),
        };
        let text = String::from_utf8(line).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned());
        self.say(capture, request, self.pipes[at].1, text);
    }

    fn tell_dropped(&self, capture: &mut Capture) {
        let dropped = std::mem::take(&mut capture.dropped);
        if dropped > 0 {
            self.say(
                capture,
                capture.request.clone(),
                LogSource::Runtime,
                format!("dropped {dropped} bytes of output: {KEPT} is the most of a request"),
            );
        }
    }

    fn say(&self, capture: &mut Capture, request: Option<Arc<str>>, source: LogSource, text: String) {
        if request.is_none() || text.starts_with(JAIL) {
            if capture.aside.len() == ASIDE {
                capture.aside.pop_front();
            }
            capture.aside.push_back(text.clone());
        }
        let Some(function) = &capture.owner else { return };
        self.host.log(LogLine {
            at: self.host.now(),
            app: function.app.clone(),
            function: function.name.clone(),
            number: function.number,
            uid: function.uid.clone(),
            instance: self.instance,
            request: request.as_deref().map(Box::from),
            source,
            text,
        });
    }

    fn lock(&self) -> MutexGuard<'_, Capture> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the frame id of a line that the worker marked.
fn marked(line: &[u8]) -> Option<u64> {
    let (mark, id) = line.get(..MARKED)?.split_first()?;
    let (end, digits) = id.split_last()?;
    if *mark != MARK || *end != MARK || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn parses_only_complete_marks() {
        assert_eq!(marked(b"\x1e00000000000000ff\x1elate"), Some(255));
        assert_eq!(marked(b"\x1effffffffffffffff\x1e"), Some(u64::MAX));
        for line in [&b""[..], b"late", b"\x1eff\x1e", b"\x1e+0000000000000ff\x1e", b"\x1e00000000000000ff late"] {
            assert_eq!(marked(line), None);
        }
    }
}
