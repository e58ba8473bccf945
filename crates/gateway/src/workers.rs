//! The threads that serve connections. A connection stays on one of them.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) struct Workers {
    threads: Vec<Worker>,
    joined: Mutex<Vec<JoinHandle<()>>>,
    exit: CancellationToken,
}

struct Worker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

impl Workers {
    /// With none, connections are served by the runtime of the caller.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let exit = CancellationToken::new();
        let mut threads = Vec::new();
        let mut joined = Vec::new();
        for number in 0..count {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            threads.push(Worker { runtime: runtime.handle().clone(), connections: Arc::default() });
            let exit = exit.clone();
            let thread = std::thread::Builder::new().name(format!("gateway-{number}"));
            joined.push(thread.spawn(move || {
                runtime.block_on(exit.cancelled());
                runtime.shutdown_background();
            })?);
        }
        Ok(Self { threads, joined: Mutex::new(joined), exit })
    }

    /// Serves a connection on the thread that has the fewest.
    pub(crate) fn run<F>(
        &self,
        connections: &TaskTracker,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some(worker) = self.threads.iter().min_by_key(|worker| worker.connections.load(Ordering::Relaxed)) else {
            connections.spawn(serve(stream));
            return;
        };
        let Ok(stream) = stream.into_std() else { return };
        let seat = Count::up(&worker.connections);
        let task = async move {
            if let Ok(stream) = TcpStream::from_std(stream) {
                serve(stream).await;
            }
            drop(seat);
        };
        connections.spawn_on(task, &worker.runtime);
    }

    pub(crate) async fn stop(&self) {
        self.exit.cancel();
        let threads = std::mem::take(&mut *self.joined.lock().unwrap_or_else(PoisonError::into_inner));
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().for_each(|thread| drop(thread.join())));
        let _ = joined.await;
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.exit.cancel();
    }
}

struct Count(Arc<AtomicUsize>);

impl Count {
    fn up(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
