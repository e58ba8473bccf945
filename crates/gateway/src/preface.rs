//! Detects HTTP/1 or HTTP/2 from the first bytes of a connection without TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// No HTTP/1 method begins like the HTTP/2 preface.
const HTTP2: &[u8; 3] = b"PRI";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// A stream with the bytes that had to be read to detect its protocol, if any.
pub(crate) struct Begun<S> {
    read: [u8; 3],
    /// The range of `read` that is still to be returned.
    from: usize,
    to: usize,
    stream: S,
}

/// Waits until the protocol is known. The first bytes are only peeked at, so that they are read
/// once. They are read here only if a client sends the first one or two of the preface alone.
pub(crate) async fn read(mut stream: TcpStream) -> io::Result<(Protocol, Begun<TcpStream>)> {
    let mut read = [0; 3];
    let length = stream.peek(&mut read).await?;
    let mut to = 0;
    if length < HTTP2.len() && length > 0 && HTTP2.starts_with(&read[..length]) {
        while to < HTTP2.len() && HTTP2.starts_with(&read[..to]) {
            let more = stream.read(&mut read[to..]).await?;
            if more == 0 {
                break;
            }
            to += more;
        }
    }
    let protocol = if read == *HTTP2 { Protocol::Http2 } else { Protocol::Http1 };
    Ok((protocol, Begun { read, from: 0, to, stream }))
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.from < self.to && into.remaining() > 0 {
            let end = self.to.min(self.from + into.remaining());
            into.put_slice(&self.read[self.from..end]);
            self.from = end;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
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
