//! A connection whose client must keep reading.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::activity::Activity;

/// Fails when a write was blocked for as long as `patience`, and records blocked writes in the
/// activity. Costs nothing while writes succeed.
pub struct WriteTimeout<S> {
    stream: S,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    activity: Arc<Activity>,
}

impl<S> WriteTimeout<S> {
    pub fn new(stream: S, patience: Duration, activity: Arc<Activity>) -> Self {
        Self { stream, patience, timer: None, waiting: false, activity }
    }

    /// Records a blocked write. Only a complete flush clears it, not the next successful write.
    fn sent<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            self.activity.record_blocked_write();
        }
        self.judge(context, polled)
    }

    fn judge<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = false;
            return polled;
        }
        let patience = self.patience;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if !self.waiting {
            self.waiting = true;
            timer.as_mut().reset(Instant::now() + patience);
        }
        match timer.poll_unpin(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.sent(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.sent(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        if let Poll::Ready(Ok(())) = polled {
            self.activity.record_flush();
        }
        self.sent(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn fails_when_the_reader_stops() {
        let (near, mut far) = tokio::io::duplex(10);
        let mut near = WriteTimeout::new(near, Duration::from_secs(60), Arc::default());
        near.write_all(&[0; 10]).await.expect("it fits");
        for _ in 0..3 {
            // Slow, but still reading.
            let (written, read) = tokio::join!(near.write_all(&[0; 10]), async {
                tokio::time::sleep(Duration::from_secs(59)).await;
                far.read_exact(&mut [0; 10]).await
            });
            written.expect("it is taken");
            read.expect("it comes");
        }
        let error = near.write_all(&[0; 1]).await.expect_err("the peer does not read");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn connection_is_not_idle_before_a_slow_reader_has_everything() {
        let (near, mut far) = tokio::io::duplex(10);
        let activity = Arc::new(Activity::default());
        let mut near = WriteTimeout::new(near, Duration::from_secs(60), activity.clone());
        drop(activity.begin());
        near.write_all(&[0; 10]).await.expect("it fits");
        assert_eq!(activity.begun_if_idle(), Some(1));
        assert!(near.write(&[0; 10]).now_or_never().is_none(), "there is no room");
        assert_eq!(activity.begun_if_idle(), None);
        far.read_exact(&mut [0; 10]).await.expect("it comes");
        near.write_all(&[0; 10]).await.expect("it is taken");
        assert_eq!(activity.begun_if_idle(), None, "more may be waiting to be written");
        near.flush().await.expect("all is out");
        assert_eq!(activity.begun_if_idle(), Some(1));
    }
}
