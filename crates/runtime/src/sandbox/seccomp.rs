//! Blocks system calls that a worker does not need and that have been used to escape sandboxes.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::Ability;
use super::order::{Order, Walls};

/// Refused with EPERM, whatever their arguments.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    LISTMOUNT,
    LISTNS,
    OPEN_TREE_ATTR,
    STATMOUNT,
];

/// The same on all architectures, but missing in some C libraries.
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;
const LISTNS: i64 = 470;

/// The socket families that a worker may open. The kernel has some forty more, most of them rarely
/// audited.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Protocols of `AF_INET` and `AF_INET6` that Landlock does not count as TCP. Go listens with MPTCP
/// if it can, and with TCP otherwise.
const PROTOCOLS: [i32; 2] = [libc::IPPROTO_SCTP, libc::IPPROTO_MPTCP];

/// The argument of `personality` that only queries it.
const ASK_PERSONALITY: u64 = 0xffff_ffff;

/// `ioctl` requests that allocate disk space as `fallocate` does, or make one byte take a lot of
/// it.
const TAKE_ROOM: [u64; 6] = [
    0x4030_580a, // XFS_IOC_ALLOCSP
    0x4030_5824, // XFS_IOC_ALLOCSP64
    0x4030_5828, // FS_IOC_RESVSP
    0x4030_582a, // FS_IOC_RESVSP64
    0x4030_5839, // FS_IOC_ZERO_RANGE
    0x401c_5820, // FS_IOC_FSSETXATTR, for the size of extents
];

/// Refusals that depend on the worker.
pub(super) struct Refusals {
    /// Refuses memory that neither a process nor a mount shows, if no cgroup counts it.
    unseen_memory: bool,
    /// Refuses allocating disk space without writing it, so that the disk watcher can react in
    /// time.
    fallocate: bool,
}

impl Refusals {
    pub(super) fn of(order: &Order) -> Self {
        let on_disk = order.writable.is_some() || matches!(order.walls, Walls::Plain { .. });
        Self { unseen_memory: order.groups.is_empty(), fallocate: on_disk }
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// On x86_64 the kernel may offer every call again under the x32 numbers, and a few under numbers
/// of their own.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const REFUSED_X32: &[i64] = &[
    X32 + 521, /* ptrace */
    X32 + 528, /* kexec_load */
    X32 + 539, /* process_vm_readv */
    X32 + 540, /* …writev */
];
#[cfg(target_arch = "x86_64")]
const IOCTL_X32: i64 = X32 + 514;

/// Irrevocable, for this thread and everything it starts.
pub(super) fn refuse_calls(refusals: Refusals) -> io::Result<Ability> {
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(Ability::no("seccomp", format!("there is no filter for {}", std::env::consts::ARCH)));
    };
    let filters = filters(&refusals, architecture).map_err(io::Error::other)?;
    for filter in filters {
        if let Err(error) = seccompiler::apply_filter(&filter) {
            return Ok(Ability::no(
                "seccomp",
                format!("the kernel refuses filters ({error}); it needs CONFIG_SECCOMP_FILTER"),
            ));
        }
    }
    Ok(Ability::yes("seccomp", format!("{} system calls and all but four kinds of sockets are refused", REFUSED.len())))
}

fn filters(refusals: &Refusals, architecture: TargetArch) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut rules = vec![(refused()?, libc::EPERM), (absent(refusals), libc::ENOSYS), (sockets()?, libc::EAFNOSUPPORT)];
    if refusals.fallocate {
        // C libraries fall back to writing zeros.
        rules.push((unwritten_room()?, libc::EOPNOTSUPP));
    }
    let program = |(rules, errno): (Rules, i32)| {
        let errno = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(with_x32(rules), SeccompAction::Allow, errno, architecture)?.try_into()
    };
    rules.into_iter().map(program).collect()
}

fn refused() -> Result<Rules, seccompiler::BackendError> {
    let mut refused: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let flag = libc::CLONE_NEWUSER.unsigned_abs().into();
    let new_user = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?;
    refused.insert(libc::SYS_clone, vec![SeccompRule::new(vec![new_user])?]);
    let changed = |allowed| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, allowed);
    refused.insert(libc::SYS_personality, vec![SeccompRule::new(vec![changed(0)?, changed(ASK_PERSONALITY)?])?]);
    #[cfg(target_arch = "x86_64")]
    refused.extend(REFUSED_X32.iter().map(|call| (*call, Vec::new())));
    Ok(refused)
}

/// The flags of clone3 are behind a pointer, out of reach of a filter. ENOSYS makes C libraries use
/// clone.
fn absent(refusals: &Refusals) -> Rules {
    let mut absent = vec![libc::SYS_clone3, libc::SYS_memfd_secret];
    if refusals.unseen_memory {
        absent.extend([libc::SYS_memfd_create, libc::SYS_shmget]);
    }
    absent.into_iter().map(|call| (call, Vec::new())).collect()
}

fn unwritten_room() -> Result<Rules, seccompiler::BackendError> {
    let is = |request| SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request);
    let requests =
        TAKE_ROOM.iter().map(|request| SeccompRule::new(vec![is(*request)?])).collect::<Result<Vec<_>, _>>()?;
    Ok(BTreeMap::from([
        (libc::SYS_fallocate, Vec::new()),
        // Does what `FS_IOC_FSSETXATTR` does.
        (FILE_SETATTR, Vec::new()),
        #[cfg(target_arch = "x86_64")]
        (IOCTL_X32, requests.clone()),
        (libc::SYS_ioctl, requests),
    ]))
}

/// Of netlink, allows only route netlink, which name lookups and `getifaddrs` use.
fn sockets() -> Result<Rules, seccompiler::BackendError> {
    let compare = |argument, how, to: i32| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, to.unsigned_abs().into())
    };
    let others = FAMILIES.iter().map(|family| compare(0, SeccompCmpOp::Ne, *family)).collect::<Result<_, _>>()?;
    let netlink =
        vec![compare(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?, compare(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?];
    let mut rules = vec![SeccompRule::new(others)?, SeccompRule::new(netlink)?];
    for protocol in PROTOCOLS {
        rules.push(SeccompRule::new(vec![compare(2, SeccompCmpOp::Eq, protocol)?])?);
    }
    Ok(BTreeMap::from([(libc::SYS_socket, rules.clone()), (libc::SYS_socketpair, rules)]))
}

/// Repeats every rule under the x32 numbers, where those exist.
fn with_x32(rules: Rules) -> Rules {
    #[cfg(target_arch = "x86_64")]
    let rules = {
        let again: Vec<_> = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.into_iter().chain(again).collect()
    };
    rules
}
