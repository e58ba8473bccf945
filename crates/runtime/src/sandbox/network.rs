//! Blocks addresses and ports of the machine for workers, with rules of the kernel's packet filter
//! (nftables) on the workers' user ids. Only root can assign such users and add rules.
//!
//! The rules are in a table of this server's own, so they do not interfere with other servers on
//! the machine or with other packet filters. The kernel removes the table when the socket that
//! created it is closed, however the server ends.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use milepost_model::metadata::{LINK_LOCAL, METADATA};
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
            let detail = "workers cannot reach cloud metadata (link-local and known addresses) or this server's API and gateway, and other machines cannot connect to them; all else is open to them";
            (Some(guard), Ability::yes(NAME, detail))
        }
        Err(error) => (None, Ability::no(NAME, format!("{OPEN} ({error}); {REMEDY}"))),
    }
}

pub(super) const OPEN: &str = "workers reach all that the machine reaches, cloud metadata (link-local addresses) and this server's API and gateway too";
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
    let single = |address: &IpAddr| (*address, if address.is_ipv4() { 32 } else { 128 });
    for (address, prefix) in LINK_LOCAL.into_iter().chain(METADATA.iter().map(single)) {
        let mut rule = of(everyone);
        match address {
            IpAddr::V4(four) => {
                rule.with_receiver(
                    libc::NFPROTO_IPV4,
                    16,
                    &four.octets(),
                    &u32::MAX.unbounded_shl(32 - u32::from(prefix)).to_be_bytes(),
                );
            }
            IpAddr::V6(six) => {
                rule.with_receiver(
                    libc::NFPROTO_IPV6,
                    24,
                    &six.octets(),
                    &u128::MAX.unbounded_shl(128 - u32::from(prefix)).to_be_bytes(),
                );
            }
        }
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
