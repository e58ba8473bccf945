//! Detects when a program begins to accept connections. Its socket listens before the program
//! starts, so connecting proves nothing. A connection that waits in the listener's queue shows up
//! in the kernel's table of sockets.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::Backoff;

use super::worker::Worker;

const TABLE: &str = "/proc/net/unix";
/// State of a connection that its listener has not accepted.
const WAITING: &str = "02";
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(200));

/// Returns once no connection waits in the worker's queue. If the worker ends first, the error says
/// how.
pub(super) async fn accepted(worker: &Arc<Worker>) -> Result<(), String> {
    let mut backoff = BACKOFF;
    loop {
        tokio::select! {
            how = worker.ended() => return Err(format!("its process ended before it accepted a connection on file descriptor 3 ({how})")),
            () = tokio::time::sleep(backoff.next_delay()) => {}
        }
        match tokio::fs::read_to_string(TABLE).await {
            Ok(table) if is_waiting(&table, &worker.socket) => {}
            // Without the table nothing more can be learned: the program is running.
            _ => return Ok(()),
        }
    }
}

/// Fields of a line: address, references, protocol, flags, type, state, inode, path.
fn is_waiting(table: &str, socket: &Path) -> bool {
    let Some(socket) = socket.to_str() else { return false };
    table.lines().any(|line| line.ends_with(socket) && line.split_ascii_whitespace().nth(5) == Some(WAITING))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_connection_waits_until_it_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("worker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let waiting = || is_waiting(&std::fs::read_to_string(TABLE).unwrap(), &socket);
        assert!(!waiting());
        let _stream = UnixStream::connect(&socket).unwrap();
        assert!(waiting());
        let _accepted = listener.accept().unwrap();
        assert!(!waiting());
    }
}
