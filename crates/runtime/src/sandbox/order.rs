//! The server's instructions to the stages, sent as one message on a socket with the worker's
//! listener attached.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

use super::JailLimits;

/// An order carries no secrets and no code, so a longer one is a bug.
const MAX_ORDER: usize = 4 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    pub walls: Walls,
    /// The program of the inner stage.
    pub stages: PathBuf,
    /// An empty directory of the host to build the root on.
    pub mount_point: PathBuf,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub app_folder: PathBuf,
    pub readable: Vec<PathBuf>,
    pub writable: Option<PathBuf>,
    /// Files and directories, with symlinks resolved, that are never shown, whatever directory they
    /// are in.
    pub hidden: Vec<PathBuf>,
    pub limits: JailLimits,
    /// Directories of control groups that the worker joins, and that the outer stage removes at the
    /// end.
    pub groups: Vec<PathBuf>,
    /// Set up the sandbox, report what worked, and exit.
    pub probe: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Walls {
    /// Namespaces created by root. The worker switches to this user.
    Root { user: u32 },
    /// Namespaces created by an ordinary user, inside a user namespace.
    User,
    /// No namespaces. The worker switches to the user, if set, and uses the directory as its
    /// scratch.
    Plain { user: Option<u32>, scratch: PathBuf, close_files: bool },
}

impl Order {
    pub(super) fn send(&self, mut to: &UnixStream, listener: BorrowedFd<'_>) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let length = u32::try_from(text.len()).map_err(io::Error::other)?.to_le_bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let listeners = [listener];
        if !control.push(SendAncillaryMessage::ScmRights(&listeners)) {
            return Err(io::Error::other("no room for the listener in the message"));
        }
        let sent = rustix::net::sendmsg(to, &[IoSlice::new(&length)], &mut control, SendFlags::NOSIGNAL)?;
        to.write_all(&length[sent..])?;
        to.write_all(&text)
    }

    /// The listener gets the lowest free descriptor and stays open across `exec`.
    pub(super) fn receive(from: BorrowedFd<'_>) -> io::Result<(Self, OwnedFd)> {
        let mut length = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got =
            rustix::net::recvmsg(from, &mut [IoSliceMut::new(&mut length)], &mut control, RecvFlags::empty())?.bytes;
        let listener = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let mut rest = Socket(from);
        rest.read_exact(&mut length[got..])?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_ORDER {
            return Err(io::Error::other("the order is too long"));
        }
        let mut text = vec![0; length];
        rest.read_exact(&mut text)?;
        let listener = listener.ok_or_else(|| io::Error::other("the order came without a listener"))?;
        Ok((serde_json::from_slice(&text)?, listener))
    }
}

/// Unbuffered: standard input would read ahead, and a stage must read exactly the order and then
/// detect the end of file.
struct Socket<'a>(BorrowedFd<'a>);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(self.0.as_fd(), buffer)?)
    }
}
