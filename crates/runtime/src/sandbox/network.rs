//! Blocks addresses and ports of the machine for workers, with rules of the kernel's packet filter
//! (nftables) on the workers' user ids. Only root can assign such users and add rules.
//!
//! The rules are in a table of this server's own, so they do not interfere with other servers on
//! the machine or with other packet filters. The kernel removes the table when the socket that
//! created it is closed, however the server ends.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::libc;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use super::nftables::{Batch, Expressions, OWNED};
use super::privileges::{BUILDERS, WORKERS};
use super::{Ability, ClosedPorts};

/// Closing it removes the rules.
#[derive(Debug)]
pub(super) struct Guard {
    socket: OwnedFd,
    table: String,
    /// Kernels before 5.12 do not remove a table with its owner.
    stays: bool,
}

/// `seed` distinguishes servers on one machine, and stays the same across restarts.
pub(super) fn raise(seed: &Path, ports: &ClosedPorts) -> (Option<Guard>, Ability) {
    const NAME: &str = "network";
    match attempt(seed, ports) {
        Ok(guard) => {
            let detail = "workers cannot reach link-local addresses (cloud metadata) or this server's API, and other machines cannot connect to them; all else is open to them";
            (Some(guard), Ability::yes(NAME, detail))
        }
        Err(error) => (None, Ability::no(NAME, format!("{OPEN} ({error}); {REMEDY}"))),
    }
}

pub(super) const OPEN: &str =
    "workers reach all that the machine reaches, link-local addresses (cloud metadata) and this server's API too";
pub(super) const REMEDY: &str =
    "start the server as root with CAP_NET_ADMIN on a kernel with nf_tables, or filter what its user may reach";

fn attempt(seed: &Path, ports: &ClosedPorts) -> io::Result<Guard> {
    let protocol = Some(netlink::NETFILTER);
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    let table = format!("milepost-{:016x}", super::jail::hash(seed));
    let mut guard = Guard { socket, table, stays: false };
    match guard.send(rules(&guard.table, ports, true)) {
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::OPNOTSUPP)) => {
            guard.stays = true;
            guard.send(rules(&guard.table, ports, false))?;
        }
        done => done?,
    }
    Ok(guard)
}

impl Guard {
    /// When this returns, the kernel has applied all of a batch or nothing.
    fn send(&self, batch: Batch) -> io::Result<()> {
        let (bytes, mut open) = batch.end();
        rustix::net::send(&self.socket, &bytes, SendFlags::empty())?;
        let mut answer = vec![0_u8; 16 << 10];
        while open > 0 {
            let (length, _) = rustix::net::recv(&self.socket, &mut answer, RecvFlags::DONTWAIT)?;
            open = open.saturating_sub(super::nftables::answers(&answer[..length])?);
        }
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.stays {
            let mut batch = Batch::begin();
            batch.delete_table(&self.table);
            let _ = self.send(batch);
        }
    }
}

fn rules(table: &str, ports: &ClosedPorts, owned: bool) -> Batch {
    let mut batch = Batch::begin();
    if !owned {
        // Removes the table of a killed server. It is created first because deleting a missing
        // table fails.
        batch.table(table, 0);
        batch.delete_table(table);
    }
    batch.table(table, if owned { OWNED } else { 0 });
    batch.chain(table, "out");
    let everyone = (*WORKERS.start(), *BUILDERS.end());
    let of = |(first, last): (u32, u32)| {
        let mut rule = Expressions::default();
        rule.user_between(first, last);
        rule
    };
    // Port 53 stays open: some clouds serve DNS at such an address.
    let closed = |mut rule: Expressions| {
        rule.without_port(53);
        rule.unreachable();
        rule
    };
    let mut four = of(everyone);
    four.with_receiver(libc::NFPROTO_IPV4, 16, &[169, 254, 0, 0], &[255, 255, 0, 0]);
    let mut six = of(everyone);
    six.with_receiver(libc::NFPROTO_IPV6, 24, &bytes(0xfe80, 0), &bytes(0xffc0, 0));
    // Amazon's metadata address for IPv6.
    let mut metadata = of(everyone);
    let address = "fd00:ec2::254".parse().map_or([0; 16], |address: std::net::Ipv6Addr| address.octets());
    metadata.with_receiver(libc::NFPROTO_IPV6, 24, &address, &[0xff; 16]);
    for rule in [four, six, metadata] {
        batch.rule(table, "out", closed(rule));
    }
    // A worker's own server is for itself. The rule does not apply to the gateway's sockets.
    let mut inward = [of(everyone), of(everyone)];
    inward[0].accepts_from_outside(libc::NFPROTO_IPV4, 12, &[127, 0, 0, 0], &[255, 0, 0, 0]);
    inward[1].accepts_from_outside(libc::NFPROTO_IPV6, 8, &std::net::Ipv6Addr::LOCALHOST.octets(), &[0xff; 16]);
    for mut rule in inward {
        rule.reset();
        batch.rule(table, "out", rule);
    }
    let builders = (*BUILDERS.start(), *BUILDERS.end());
    let own = ports.workers.iter().map(|port| (everyone, *port));
    for (users, port) in own.chain(ports.builds.iter().map(|port| (builders, *port))) {
        let mut rule = of(users);
        rule.with_own_port(port);
        rule.reset();
        batch.rule(table, "out", rule);
    }
    batch
}

fn bytes(first: u16, rest: u8) -> [u8; 16] {
    let mut all = [rest; 16];
    all[..2].copy_from_slice(&first.to_be_bytes());
    all
}
