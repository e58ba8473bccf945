//! Drops privileges: sets resource limits, and changes user and capabilities.

use std::io;
use std::ops::RangeInclusive;

use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::Ability;
use super::order::{Order, Walls};
use super::processes;

/// The worker's user id inside a user namespace.
pub(super) const INNER_USER: u32 = 1000;

/// If the server is root, each worker gets a user id of its own. Files of other workers are closed
/// to it, and the kernel's process count, which is per user, is its own.
pub(super) const WORKERS: RangeInclusive<u32> = 200_000..=249_999;
/// Separate user ids, because builds may reach less of the network than functions.
pub(super) const BUILDERS: RangeInclusive<u32> = 250_000..=259_999;

/// `offset` distinguishes two servers on one machine.
pub(super) fn user_of(instance: u64, offset: u64, builds: bool) -> u32 {
    let users = if builds { BUILDERS } else { WORKERS };
    let count = u64::from(users.end() - users.start()) + 1;
    let place = (instance % count + offset % count) % count;
    users.start() + u32::try_from(place).unwrap_or(0)
}

pub(super) fn limit(order: &Order) -> io::Result<()> {
    let limits = &order.limits;
    set(Resource::Core, 0)?;
    set(Resource::Fsize, limits.file_size)?;
    set(Resource::Nofile, limits.open_files)?;
    set(Resource::Memlock, 64 << 10)?;
    // Pid 1 counts too. Without its own user id, a worker shares the count with everything else
    // that the user runs.
    let others = match &order.walls {
        Walls::Plain { user: None, .. } => processes::tasks_of(Uid::current().as_raw()),
        _ => 1,
    };
    set(Resource::Nproc, limits.processes + others)
}

/// Never raises a limit, which takes a privilege that the server may not have.
fn set(resource: Resource, most: u64) -> io::Result<()> {
    let most = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| most.min(maximum));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

pub(super) fn drop_all(walls: &Walls) -> io::Result<Vec<Ability>> {
    let capabilities = empty_bounding_set();
    let user = match walls {
        Walls::Root { user } | Walls::Plain { user: Some(user), .. } => {
            become_user(*user)?;
            Ability::yes("user switch", "each worker is a user of its own")
        }
        Walls::User => Ability::no(
            "user switch",
            "workers have the server's user and groups, without its rights, in a namespace; start the server as root to give each worker its own",
        ),
        Walls::Plain { user: None, .. } => Ability::no(
            "user switch",
            "workers have the server's user; start the server as root, with a run folder that other users can enter",
        ),
    };
    let nothing = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_capabilities(None, nothing)?;
    Ok(vec![user, capabilities])
}

fn become_user(user: u32) -> io::Result<()> {
    // Lets a worker open /dev/stdout: a pipe belongs to its creator.
    for output in [rustix::stdio::stdout(), rustix::stdio::stderr()] {
        let _ = rustix::fs::fchown(output, Some(rustix::fs::Uid::from_raw(user)), None);
    }
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(user));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    Ok(setresuid(user, user, user)?)
}

fn empty_bounding_set() -> Ability {
    // The kernel rejects bits that it does not know, so those capabilities cannot exist either.
    for one in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << one);
        if rustix::thread::capability_is_in_bounding_set(one).unwrap_or(false)
            && let Err(error) = rustix::thread::remove_capability_from_bounding_set(one)
        {
            return Ability::no(
                "capabilities",
                format!(
                    "the bounding set stays as it is ({error}); workers cannot use it, as they gain no privileges by executing files"
                ),
            );
        }
    }
    Ability::yes("capabilities", "workers have none and can gain none")
}
