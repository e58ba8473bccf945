//! Calls to the kernel that a worker has no use for, and that others have broken out with.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::Ability;

/// Refused with EPERM whatever their arguments are.
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
];

/// On x86_64 the kernel may offer every call once more under the x32 numbers, and a few only under numbers of their own.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const REFUSED_X32: &[i64] = &[
    X32 + 521, /* ptrace */
    X32 + 528, /* kexec_load */
    X32 + 539, /* process_vm_readv */
    X32 + 540, /* …writev */
];

/// For this thread and everything it starts. There is no way back.
pub(super) fn refuse_calls() -> io::Result<Ability> {
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(Ability::no("seccomp", format!("there is no filter for {}", std::env::consts::ARCH)));
    };
    let filters = filters(architecture).map_err(io::Error::other)?;
    for filter in filters {
        if let Err(error) = seccompiler::apply_filter(&filter) {
            return Ok(Ability::no(
                "seccomp",
                format!("the kernel refuses filters ({error}); it needs CONFIG_SECCOMP_FILTER"),
            ));
        }
    }
    Ok(Ability::yes("seccomp", format!("{} calls are refused", REFUSED.len())))
}

fn filters(architecture: TargetArch) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let flag = libc::CLONE_NEWUSER.unsigned_abs().into();
    let new_user = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?;
    refused.insert(libc::SYS_clone, vec![SeccompRule::new(vec![new_user])?]);
    // The flags of clone3 are behind a pointer. "Not there" makes C libraries use clone.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "more numbers on x86_64"))]
    let mut absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    #[cfg(target_arch = "x86_64")]
    {
        let again: Vec<_> = refused.iter().map(|(call, rules)| (call + X32, rules.clone())).collect();
        refused.extend(again);
        refused.extend(REFUSED_X32.iter().map(|call| (*call, Vec::new())));
        absent.insert(libc::SYS_clone3 + X32, Vec::new());
    }
    let program = |rules, errno: i32| {
        let errno = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, errno, architecture)?.try_into()
    };
    Ok([program(refused, libc::EPERM)?, program(absent, libc::ENOSYS)?])
}
