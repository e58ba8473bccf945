//! Rejects HTTP/1 heads with bare LF line ends. hyper accepts them, while a proxy in front of it
//! may not and would see another request than the function.
//!
//! The bytes are only inspected on their way to hyper. A bare LF in a head is replaced by a NUL,
//! which hyper rejects with 400.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) struct LineEnds<S> {
    stream: S,
    reading: Reading,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reading {
    Head(Head),
    /// This many bytes until the next head.
    Body(u64),
    ChunkSize(Line),
    /// The rest of a chunk, including its line end.
    Chunk(u64),
    Trailers(Line),
    /// Unexpected input: hyper rejects it or interprets it correctly.
    Lost,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Head {
    line: Line,
    begun: bool,
    body: Framing,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Framing {
    #[default]
    None,
    Length(u64),
    Chunked,
}

/// The beginning of a line that may arrive in several reads. Spaces are skipped, because hyper
/// accepts any number of them; without them every line that sets a body's length fits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    start: [u8; Self::KEPT],
    filled: usize,
    /// Including spaces.
    length: usize,
    /// There were more bytes than are kept.
    is_cut: bool,
    ends_with_cr: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self { start: [0; Self::KEPT], filled: 0, length: 0, is_cut: false, ends_with_cr: false }
    }
}

impl Line {
    const KEPT: usize = 64;

    fn push(&mut self, bytes: &[u8]) {
        // Only lines about lengths matter, and they fit: skip the rest of a longer one.
        if !self.is_cut {
            let mut bytes = bytes.iter().filter(|byte| !matches!(byte, b' ' | b'\t'));
            for byte in bytes.by_ref().take(Self::KEPT - self.filled) {
                self.start[self.filled] = *byte;
                self.filled += 1;
            }
            self.is_cut = bytes.next().is_some();
        }
        self.length += bytes.len();
        if let Some(last) = bytes.last() {
            self.ends_with_cr = *last == b'\r';
        }
    }

    fn kept(&self) -> &[u8] {
        &self.start[..self.filled]
    }
}

impl<S> LineEnds<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, reading: Reading::Head(Head::default()) }
    }
}

/// Returns the bytes up to the next LF, and whether there is one.
fn cut(bytes: &[u8]) -> (&[u8], bool) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], true),
        None => (bytes, false),
    }
}

impl Reading {
    /// Inspects incoming bytes and invalidates bare line ends in heads.
    fn look(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self {
                Self::Lost => return,
                Self::Body(left) | Self::Chunk(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left -= taken as u64;
                    at += taken;
                    if *left == 0 {
                        *self = match self {
                            Self::Chunk(_) => Self::ChunkSize(Line::default()),
                            _ => Self::Head(Head::default()),
                        };
                    }
                }
                Self::Head(Head { line, .. }) | Self::ChunkSize(line) | Self::Trailers(line) => {
                    let (piece, ended) = cut(rest);
                    line.push(piece);
                    at += piece.len();
                    if !ended {
                        return;
                    }
                    if !line.ends_with_cr {
                        bytes[at] = 0;
                        *self = Self::Lost;
                        return;
                    }
                    if !self.line_ended() {
                        bytes[at] = 0;
                        *self = Self::Lost;
                        return;
                    }
                    at += 1;
                }
            }
        }
    }

    /// Returns false if the line sets a length that hyper might read differently.
    fn line_ended(&mut self) -> bool {
        match self {
            Self::Head(head) => {
                let line = std::mem::take(&mut head.line);
                if line.length > 1 {
                    if head.begun {
                        let Some(body) = head.body.with(&line) else { return false };
                        head.body = body;
                    }
                    head.begun = true;
                } else if head.begun {
                    *self = match head.body {
                        Framing::None | Framing::Length(0) => Self::Head(Head::default()),
                        Framing::Length(length) => Self::Body(length),
                        Framing::Chunked => Self::ChunkSize(Line::default()),
                    };
                }
            }
            Self::ChunkSize(line) => {
                let end = line.kept().iter().position(|byte| matches!(byte, b';' | b'\r'));
                if end.is_none() {
                    return false;
                }
                let digits = end.and_then(|end| line.kept().get(..end));
                let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default();
                *self = match u64::from_str_radix(digits, 16) {
                    Ok(0) => Self::Trailers(Line::default()),
                    Ok(size) => size.checked_add(2).map_or(Self::Lost, Self::Chunk),
                    Err(_) => Self::Lost,
                };
            }
            Self::Trailers(line) => {
                *self = if line.length > 1 { Self::Trailers(Line::default()) } else { Self::Head(Head::default()) };
            }
            Self::Body(_) | Self::Chunk(_) | Self::Lost => {}
        }
        true
    }
}

impl Framing {
    /// Returns the framing after one more header. Chunked takes precedence over a length, as in
    /// hyper. `None` for a length that cannot be parsed.
    fn with(self, line: &Line) -> Option<Self> {
        let kept = line.kept();
        let is = |name: &[u8]| kept.len() > name.len() && kept[..name.len()].eq_ignore_ascii_case(name);
        if is(b"transfer-encoding:") {
            return Some(Self::Chunked);
        }
        if !is(b"content-length:") {
            return Some(self);
        }
        let value = kept[b"content-length:".len()..].trim_ascii();
        let length = std::str::from_utf8(value).ok().filter(|_| !line.is_cut).and_then(|value| value.parse().ok())?;
        Some(if self == Self::Chunked { self } else { Self::Length(length) })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LineEnds<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        self.reading.look(&mut into.filled_mut()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LineEnds<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pipelined requests without a bare LF outside of their bodies.
    const GOOD: &str = "\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n\
        POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\na\nb\n\nc\
        POST / HTTP/1.1\r\ntransfer-encoding:  chunked\r\ncontent-length: 1\r\n\r\n\
        4;a=b\r\n\n\n\n\n\r\nA\r\n0123456\n\n\n\r\n0\r\nx-trailer: 1\r\n\r\n\
        POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\nGET / HTTP/1.1\r\nhost: y\r\n\r\n";

    fn looked(text: &str, cuts: &[usize]) -> Vec<u8> {
        let mut reading = Reading::Head(Head::default());
        let mut bytes = text.as_bytes().to_vec();
        let mut from = 0;
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        for end in ends {
            reading.look(&mut bytes[from..end]);
            from = end;
        }
        bytes
    }

    #[test]
    fn spaces_around_a_length_do_not_hide_a_bare_lf() {
        let bare = "GET /last HTTP/1.1\nhost: y\r\n\r\n";
        for spaces in [" ".repeat(50), "\t".repeat(70), " ".repeat(5000)] {
            let length = format!("POST / HTTP/1.1\r\ncontent-length:{spaces}3{spaces}\r\n\r\na\nb");
            let chunk =
                format!("POST / HTTP/1.1\r\ntransfer-encoding:{spaces}chunked\r\n\r\n3{spaces}\r\na\nb\r\n0\r\n\r\n");
            for good in [length, chunk] {
                for cuts in [vec![], (0..good.len()).collect()] {
                    let looked = looked(&format!("{good}{bare}"), &cuts);
                    assert_eq!(&looked[..good.len()], good.as_bytes());
                    assert!(looked[good.len()..].contains(&0), "{good}");
                }
            }
        }
        // Too long to be inspected in full: hyper would read ten.
        let zeros = "0".repeat(70);
        for head in
            [format!("content-length: {zeros}10\r\n"), format!("transfer-encoding: chunked\r\n\r\n{zeros}a\r\n")]
        {
            assert!(looked(&format!("POST / HTTP/1.1\r\n{head}"), &[]).contains(&0), "{head}");
        }
    }

    proptest! {
        #[test]
        fn crlf_passes_however_reads_are_split(cuts in proptest::collection::vec(any::<usize>(), 0..12)) {
            prop_assert_eq!(looked(GOOD, &cuts), GOOD.as_bytes());
        }

        #[test]
        fn rejects_a_bare_lf_in_a_head(
            at in any::<prop::sample::Index>(),
            cuts in proptest::collection::vec(any::<usize>(), 0..12),
        ) {
            let last = "GET /last HTTP/1.1\r\nhost: y\r\nx: 1\r\n\r\n";
            let ends: Vec<usize> = last.match_indices("\r\n").map(|(at, _)| at).collect();
            let mut bare = last.to_owned();
            bare.remove(ends[at.index(ends.len())]);
            let looked = looked(&format!("{GOOD}{bare}"), &cuts);
            prop_assert_eq!(&looked[..GOOD.len()], GOOD.as_bytes());
            prop_assert!(looked[GOOD.len()..].contains(&0));
        }
    }
}
