//! The fallback where namespaces are refused, as in most containers: the worker runs on the host's
//! file system, and the kernel lets it open only what it would have seen in a root of its own.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::order::Order;
use super::root::{DEVICES, ETC, SYSTEM};
use super::{Ability, hidden};

/// The requested version. Older kernels enforce what they can. Version 6 adds scopes for signals.
const VERSION: ABI = ABI::V6;

/// The name of the ability to close files.
pub(super) const NAME: &str = "landlock";

/// Irrevocable, for this process and everything it starts.
pub(super) fn close_files(order: &Order, scratch: &Path) -> io::Result<Ability> {
    Ok(match enforce(order, scratch).map_err(io::Error::other)? {
        RulesetStatus::NotEnforced => {
            Ability::no(NAME, "workers can open what their user can; a kernel with Landlock would close it to them")
        }
        _ => Ability::yes(NAME, "workers can open only their own files, and signal only their own processes"),
    })
}

/// Abstract Unix sockets have no path that mounts could hide, and the network namespace is the
/// machine's. Without this, a worker could connect to those of other programs.
pub(super) fn close_abstract_sockets() -> Ability {
    let scoped = || Ruleset::default().scope(Scope::AbstractUnixSocket)?.create()?.restrict_self();
    match scoped() {
        Ok(RestrictionStatus { ruleset: RulesetStatus::FullyEnforced, .. }) => {
            Ability::yes("abstract sockets", "workers reach only their own abstract Unix sockets")
        }
        Ok(_) | Err(_) => Ability::no(
            "abstract sockets",
            "workers reach abstract Unix sockets of other programs; Linux 6.12 or newer with Landlock closes them",
        ),
    }
}

/// Functions are called through the gateway, which checks their permission and counts their
/// instances. Port 0 stays allowed: libraries that talk to themselves get a port from the kernel.
///
/// The kernel does not check `listen` without `bind`, which also gets a port from the kernel.
pub(super) fn close_ports() -> Ability {
    let closed = || {
        let rules = Ruleset::default().handle_access(AccessNet::BindTcp)?.create()?;
        rules.add_rule(NetPort::new(0, AccessNet::BindTcp))?.restrict_self()
    };
    match closed() {
        Ok(RestrictionStatus { ruleset: RulesetStatus::FullyEnforced, .. }) => {
            Ability::yes("tcp ports", "functions cannot choose a TCP port to listen on")
        }
        Ok(_) | Err(_) => Ability::no(
            "tcp ports",
            "functions can listen on TCP ports, which answer without the gateway; Linux 6.7 or newer with Landlock closes them",
        ),
    }
}

fn enforce(order: &Order, scratch: &Path) -> Result<RulesetStatus, RulesetError> {
    let (read, all) = (AccessFs::from_read(VERSION), AccessFs::from_all(VERSION));
    let etc = ETC.iter().chain(&["passwd", "group"]).map(|name| Path::new("/etc").join(name));
    let readable = SYSTEM.iter().map(PathBuf::from).chain(etc).chain([PathBuf::from("/proc")]);
    // Landlock cannot take anything out of a directory that it allows.
    let readable = readable.flat_map(|path| hidden::around(&path, &order.hidden));
    let contains_hidden =
        |path: &Path| path.canonicalize().is_ok_and(|real| order.hidden.iter().any(|hidden| hidden.starts_with(&real)));
    let own = order.readable.iter().flat_map(|path| match contains_hidden(path) {
        true => hidden::around(path, &order.hidden),
        // The server's own directories for workers are inside the hidden ones.
        false => vec![path.clone()],
    });
    let own = own.chain([order.app_folder.clone(), order.program.clone()]);
    let devices = DEVICES.iter().map(|name| Path::new("/dev").join(name));
    // Rules ignore paths that do not exist.
    let status = Ruleset::default()
        .handle_access(all)?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(readable.chain(own), read))?
        .add_rules(path_beneath_rules(devices, AccessFs::from_file(VERSION)))?
        .add_rules(path_beneath_rules(order.writable.iter().map(PathBuf::as_path).chain([scratch]), all))?
        .restrict_self()?;
    Ok(status.ruleset)
}
