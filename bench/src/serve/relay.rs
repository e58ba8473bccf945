//! The minimum that can be between a client and a worker: a process that copies bytes from one to
//! the other.
//!
//! Any separate process has to be woken twice per call. The cost of that alone depends on the
//! machine, and is reported beside the gateway's overhead.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use super::process::{Running, command};

/// A running relay for one client.
pub struct Relay {
    process: Running,
    address: SocketAddr,
}

impl Relay {
    /// Starts a relay to the worker that listens at `socket`.
    pub fn start(socket: &Path, log: &Path) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("could not make the relay's socket")?;
        let address = listener.local_addr()?;
        let mut line = command(std::env::current_exe().context("this program has no file")?);
        line.arg("relay").arg(socket).stdin(Stdio::from(OwnedFd::from(listener)));
        Ok(Self { process: Running::start(line, log)?, address })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect(self.address).context("the relay does not answer")?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// Runs the relay, with its listener as standard input. One side writes at a time, and each message
/// fits into one read.
pub fn run(socket: &Path) -> Result<()> {
    let listener = TcpListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let (mut client, _) = listener.accept().context("no client came")?;
    client.set_nodelay(true)?;
    let mut worker = UnixStream::connect(socket).context("the worker does not answer")?;
    let mut bytes = [0; 16 * 1024];
    loop {
        let count = client.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        worker.write_all(&bytes[..count])?;
        let count = worker.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        client.write_all(&bytes[..count])?;
    }
}
