//! The file system of a worker: a small tmpfs with parts of the host mounted into it read-only.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use super::inner::at;
use super::order::Order;
use super::{APP, Ability, BUILD, SCRATCH};

/// Top-level directories that programs need. If the host has a symlink into `/usr`, so does the
/// sandbox.
pub(super) const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Files for name lookups, TLS and the dynamic linker. Nothing that names the machine's users. Of
/// `ssl` and `pki` only certificates: private keys are beside them, and without root a worker has
/// the server's user and groups.
pub(super) const ETC: [&str; 24] = [
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "gai.conf",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "resolv.conf",
    "services",
    "ssl/ca-bundle.pem",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/ct_log_list.cnf",
    "ssl/openssl.cnf",
];

pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

const HOST_NAME: &str = "function";

/// Files of `/proc` about the machine that no function needs.
const COVERED: [&str; 7] = ["config.gz", "kallsyms", "kcore", "keys", "latency_stats", "sched_debug", "timer_list"];

/// Afterwards this process cannot reach the host's files any more.
pub(super) fn build(order: &Order, user: u32) -> io::Result<Vec<Ability>> {
    let new = order.mount_point.as_path();
    nix::unistd::sethostname(HOST_NAME)?;
    unshare(CloneFlags::CLONE_NEWNS).map_err(|errno| doing("make a mount namespace", errno))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(|errno| doing("make the mounts private", errno))?;
    memory_folder(new, "size=2m,mode=755")?;

    // Comes first, because readable paths keep their location, which may be below the host's own
    // `/tmp`.
    let scratch = inside(new, Path::new(SCRATCH));
    fs::create_dir(&scratch)?;
    let inodes = (order.limits.scratch / 4096).max(1024);
    memory_folder(&scratch, &format!("size={},nr_inodes={inodes},mode=1777", order.limits.scratch))?;
    bind_all(new, order)?;
    devices(new)?;
    small_files(new, user)?;
    let writable = order.writable.as_ref().map(|_| inside(new, Path::new(BUILD)));
    read_only_below(new, &scratch, writable.as_deref())?;

    let proc = fresh_proc(&inside(new, Path::new("/proc")))?;

    std::env::set_current_dir(new)?;
    // Stacks the new root on the old one, so no directory for the old root is needed.
    nix::unistd::pivot_root(".", ".").map_err(|errno| doing("change the root", errno))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(|errno| doing("let go of the old root", errno))?;
    std::env::set_current_dir("/")?;
    let seal = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(None::<&str>, "/", None::<&str>, seal, None::<&str>).map_err(|errno| doing("seal the root", errno))?;
    Ok(vec![Ability::yes("namespaces", "workers have their own mounts, processes, IPC and host name"), proc])
}

fn bind_all(new: &Path, order: &Order) -> io::Result<()> {
    for folder in SYSTEM {
        mirror(new, Path::new(folder), order)?;
    }
    for name in ETC {
        mirror(new, &Path::new("/etc").join(name), order)?;
    }
    // Sorted, so a directory comes before its content, which then already exists.
    for path in order.readable.iter().collect::<BTreeSet<_>>() {
        if !path.is_absolute() || path == Path::new("/") {
            return Err(io::Error::other(format!("{} cannot be shown to a worker", path.display())));
        }
        if inside(new, path).symlink_metadata().is_err() {
            bind(path, &inside(new, path))?;
            cover(path, &inside(new, path), &order.hidden)?;
        }
    }
    bind(&order.app_folder, &inside(new, Path::new(APP)))?;
    match &order.writable {
        Some(folder) => bind(folder, &inside(new, Path::new(BUILD))),
        None => Ok(()),
    }
}

/// Makes a path of the host visible at the same place, if the host has it.
fn mirror(new: &Path, path: &Path, order: &Order) -> io::Result<()> {
    let target = inside(new, path);
    match (path.symlink_metadata(), path.canonicalize()) {
        (Ok(found), Ok(real)) if found.is_symlink() && real.starts_with("/usr") => {
            make_parent(&target)?;
            symlink(fs::read_link(path)?, target)
        }
        (Ok(_), Ok(real)) => {
            bind(&real, &target)?;
            cover(&real, &target, &order.hidden)
        }
        _ => Ok(()),
    }
}

/// Covers hidden files and directories below a source that is visible at `target`. Hidden paths
/// contain no symlinks.
fn cover(source: &Path, target: &Path, hidden: &[PathBuf]) -> io::Result<()> {
    let Ok(source) = source.canonicalize() else { return Ok(()) };
    for below in hidden.iter().filter_map(|file| file.strip_prefix(&source).ok()) {
        // Joining an empty path would add a trailing slash.
        let covered = if below.as_os_str().is_empty() { target.to_owned() } else { target.join(below) };
        if covered.is_dir() {
            // Has room for mount points of what workers see at its own path inside.
            memory_folder(&covered, "size=64k,mode=755")?;
        } else {
            cover_with_nothing(&covered)?;
        }
    }
    Ok(())
}

/// Mounts `/dev/null` over a file. It reads as empty, or cannot be opened if the mount has `nodev`.
fn cover_with_nothing(file: &Path) -> io::Result<()> {
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    mount(Some("/dev/null"), file, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .map_err(|errno| doing(&format!("cover {}", file.display()), errno))
}

fn bind(source: &Path, target: &Path) -> io::Result<()> {
    let told = at(format!("cannot show {}", source.display()));
    if source.metadata().map_err(&told)?.is_dir() {
        fs::create_dir_all(target)?;
    } else {
        make_parent(target)?;
        fs::File::create(target)?;
    }
    // Recursive, because a user namespace may not uncover what is below the host's mounts.
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(|errno| told(errno.into()))
}

fn devices(new: &Path) -> io::Result<()> {
    for name in DEVICES {
        let device = Path::new("/dev").join(name);
        bind(&device, &inside(new, &device))?;
    }
    for (name, to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        // POSIX shared memory counts as scratch.
        ("shm", SCRATCH),
    ] {
        symlink(to, inside(new, &Path::new("/dev").join(name)))?;
    }
    Ok(())
}

fn small_files(new: &Path, user: u32) -> io::Result<()> {
    let etc = inside(new, Path::new("/etc"));
    fs::create_dir_all(&etc)?;
    let users = format!("root:x:0:0:root:/:/usr/sbin/nologin\nfunction:x:{user}:{user}:function:{SCRATCH}:/bin/sh\n");
    fs::write(etc.join("passwd"), users)?;
    fs::write(etc.join("group"), format!("root:x:0:\nfunction:x:{user}:\n"))?;
    fs::create_dir_all(inside(new, Path::new("/var")))?;
    // These directories are filled by the worker when it becomes a function: a spare does not know
    // it yet.
    for folder in ["configs", "secrets"] {
        symlink(Path::new(SCRATCH).join(".milepost").join(folder), inside(new, Path::new("/")).join(folder))?;
    }
    symlink(SCRATCH, inside(new, Path::new("/var/tmp")))
}

/// Remounts everything below the new root read-only except the writable mounts, including submounts
/// of bound directories.
fn read_only_below(new: &Path, scratch: &Path, writable: Option<&Path>) -> io::Result<()> {
    for line in fs::read_to_string("/proc/self/mountinfo")?.lines() {
        let mut fields = line.split(' ').skip(4);
        let (Some(target), Some(options)) = (fields.next().map(unescape), fields.next()) else { continue };
        let Ok(below) = target.strip_prefix(new) else { continue };
        // A mount below a covered directory cannot be reached, and is not found.
        let covered = target.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if below.as_os_str().is_empty() || target == scratch || covered {
            continue;
        }
        let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_NOSUID;
        if writable != Some(&target) {
            flags |= MsFlags::MS_RDONLY;
        }
        if !below.starts_with("dev") {
            flags |= MsFlags::MS_NODEV;
        }
        // A user namespace may not clear flags that the host has set.
        for option in options.split(',') {
            flags |= match option {
                "nodev" => MsFlags::MS_NODEV,
                "noexec" => MsFlags::MS_NOEXEC,
                "noatime" => MsFlags::MS_NOATIME,
                "nodiratime" => MsFlags::MS_NODIRATIME,
                "relatime" => MsFlags::MS_RELATIME,
                _ => MsFlags::empty(),
            };
        }
        mount(None::<&str>, &target, None::<&str>, flags, None::<&str>)
            .map_err(|errno| doing(&format!("make /{} read-only", below.display()), errno))?;
    }
    Ok(())
}

/// Containers that mask parts of their own `/proc` do not allow mounting a new one. Most programs
/// work without it.
fn fresh_proc(target: &Path) -> io::Result<Ability> {
    fs::create_dir(target)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(match mount(Some("proc"), target, Some("proc"), flags, None::<&str>) {
        Ok(()) => {
            COVERED.iter().try_for_each(|name| cover_with_nothing(&target.join(name)))?;
            Ability::yes("private /proc", "workers see only their own processes")
        }
        Err(errno) => Ability::no(
            "private /proc",
            format!("workers have an empty /proc ({errno}); in a container it needs an unmasked /proc"),
        ),
    })
}

fn memory_folder(target: &Path, options: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), target, Some("tmpfs"), flags, Some(options))
        .map_err(|errno| doing(&format!("mount memory on {}", target.display()), errno))
}

fn make_parent(target: &Path) -> io::Result<()> {
    target.parent().map_or(Ok(()), fs::create_dir_all)
}

fn inside(new: &Path, path: &Path) -> PathBuf {
    new.join(path.strip_prefix("/").unwrap_or(path))
}

fn doing(what: &str, errno: nix::errno::Errno) -> io::Error {
    at(format!("cannot {what}"))(errno.into())
}

/// The kernel escapes spaces, tabs, newlines and backslashes in paths as three octal digits.
fn unescape(field: &str) -> PathBuf {
    let (mut plain, mut rest) = (String::new(), field);
    while let Some(found) = rest.find('\\') {
        let (before, from) = rest.split_at(found);
        plain.push_str(before);
        match from.get(1..4).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = &from[4..];
            }
            None => {
                plain.push('\\');
                rest = &from[1..];
            }
        }
    }
    plain.push_str(rest);
    PathBuf::from(plain)
}
