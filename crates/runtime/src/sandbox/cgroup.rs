//! Control groups limit all processes of a worker together. Uses version 2 if it has the
//! controllers, else version 1.
//!
//! The group of a worker is one directory (version 2) or one per controller (version 1). The files
//! that exist tell the two apart, so callers need not know the version.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Ability;

const PREFIX: &str = "milepost-";
/// The server's own group, because version 2 requires an empty parent group.
const SERVER: &str = "milepost-server";
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
/// In microseconds. The kernel's default.
const CPU_PERIOD: u64 = 100_000;

/// Counted per process, not per `Jail`, so that the names of two jails do not collide.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The directories in which groups can be created, and the controllers of each.
#[derive(Debug, Default)]
pub(super) struct Groups {
    parents: Vec<(PathBuf, Vec<&'static str>)>,
    version: u8,
    refusal: String,
}

impl Groups {
    pub(super) fn detect() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut refusal = "the kernel offers no control groups here".to_owned();
        for (version, candidates) in [(2, version_two(&mounts, &own)), (1, version_one(&mounts, &own))] {
            let mut parents = candidates;
            parents.retain(|(folder, _)| {
                sweep(folder);
                match make(folder) {
                    Ok(group) => fs::remove_dir(group).is_ok(),
                    Err(error) => {
                        refusal = format!("{}: {error}", folder.display());
                        false
                    }
                }
            });
            if parents.iter().any(|(_, controllers)| controllers.contains(&"memory")) {
                return Self { parents, version, refusal: String::new() };
            }
        }
        Self { parents: Vec::new(), version: 0, refusal }
    }

    pub(super) fn abilities(&self) -> Vec<Ability> {
        let of = |(controller, name): (&str, &str)| {
            if self.parents.iter().any(|(_, controllers)| controllers.contains(&controller)) {
                return Ability::yes(name, format!("by control groups, version {}", self.version));
            }
            let detail = format!(
                "no control group ({}); run the server as root, or as a systemd service with Delegate=yes",
                if self.refusal.is_empty() { "its controller is missing" } else { &self.refusal }
            );
            Ability::no(name, detail)
        };
        [("memory", "cgroup memory"), ("pids", "cgroup processes"), ("cpu", "cgroup cpu")].map(of).into()
    }

    pub(super) fn create(&self, processes: u64) -> io::Result<Group> {
        let mut group = Group { folders: Vec::new() };
        for (parent, _) in &self.parents {
            match make(parent) {
                Ok(folder) => group.folders.push(folder),
                Err(error) => {
                    group.remove();
                    return Err(error);
                }
            }
        }
        // The inner stage counts too.
        group.set(&[("pids.max", processes + 1)])?;
        Ok(group)
    }
}

/// The group of one worker. The outer stage removes it, because only that knows when the worker is
/// gone.
#[derive(Debug, Clone)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
}

impl Group {
    pub(super) fn of(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    pub(super) fn take_in(&self, process: u32) -> io::Result<()> {
        self.set(&[("cgroup.procs", process.into())])
    }

    /// Adds a process only to controllers that do not count memory, where they are separate
    /// (version 1).
    pub(super) fn take_in_uncharged(&self, process: u32) -> io::Result<()> {
        let charges =
            |folder: &PathBuf| ["memory.max", "memory.limit_in_bytes"].iter().any(|file| folder.join(file).exists());
        let folders = self.folders.iter().filter(|folder| !charges(folder)).cloned().collect();
        Self { folders }.take_in(process)
    }

    /// `cpu` is in thousandths of a core.
    pub(super) fn limit(&self, memory: u64, cpu: u32) -> io::Result<()> {
        self.set(&[("memory.max", memory), ("memory.limit_in_bytes", memory)])?;
        // Only where swap is accounted at all.
        self.set(&[("memory.swap.max", 0), ("memory.memsw.limit_in_bytes", memory)])?;
        if cpu > 0 {
            let quota = (u64::from(cpu) * CPU_PERIOD / 1000).max(1000);
            self.set(&[("cpu.cfs_quota_us", quota)])?;
            self.set_text("cpu.max", &format!("{quota} {CPU_PERIOD}"))?;
        }
        Ok(())
    }

    /// Reduces the CPU share under contention to a tenth of the default.
    pub(super) fn yield_processor(&self) -> io::Result<()> {
        self.set(&[("cpu.shares", 102), ("cpu.weight", 10)])
    }

    /// Excludes memory that the kernel can reclaim: inactive file cache.
    pub(super) fn used(&self) -> Option<u64> {
        let (usage, idle) = self
            .number("memory.current")
            .zip(Some("inactive_file"))
            .or_else(|| self.number("memory.usage_in_bytes").zip(Some("total_inactive_file")))?;
        Some(usage.saturating_sub(self.entry("memory.stat", idle).unwrap_or(0)))
    }

    pub(super) fn killed_for_memory(&self) -> bool {
        let killed = |file| self.entry(file, "oom_kill").unwrap_or(0) > 0;
        killed("memory.events") || killed("memory.oom_control")
    }

    /// Retries, since the last process may still be exiting.
    pub(super) fn remove(&self) {
        for folder in &self.folders {
            for _ in 0..100 {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    _ => break,
                }
            }
        }
    }

    fn set(&self, values: &[(&str, u64)]) -> io::Result<()> {
        values.iter().try_for_each(|(file, value)| self.set_text(file, &value.to_string()))
    }

    /// Ignores missing files: they belong to the other version, or to a missing controller.
    fn set_text(&self, file: &str, value: &str) -> io::Result<()> {
        for folder in &self.folders {
            match write(&folder.join(file), value) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn read(&self, file: &str) -> Option<String> {
        self.folders.iter().find_map(|folder| fs::read_to_string(folder.join(file)).ok())
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }

    fn entry(&self, file: &str, name: &str) -> Option<u64> {
        let text = self.read(file)?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

fn make(parent: &Path) -> io::Result<PathBuf> {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = parent.join(format!("{PREFIX}{}-{count}", std::process::id()));
    fs::create_dir(&folder)?;
    Ok(folder)
}

/// Removes groups of a server that was killed together with its outer stages.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let server = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if server.is_some_and(|server| !Path::new(&format!("/proc/{server}")).exists()) {
            // A busy group still has running processes, so it is not stale yet.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn version_two(mounts: &str, own: &str) -> Vec<(PathBuf, Vec<&'static str>)> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    let Some((mount, path)) = mount_of(mounts, "cgroup2", "").zip(path) else { return Vec::new() };
    let mut folder = below(&mount, path);
    // An earlier detection in this process has moved it.
    if folder.file_name().is_some_and(|name| name == SERVER) {
        folder.pop();
    }
    let offered = words(&folder.join("cgroup.controllers"));
    let controllers: Vec<_> = CONTROLLERS.into_iter().filter(|name| offered.iter().any(|one| one == name)).collect();
    if !controllers.contains(&"memory") || hand_down(&folder, &controllers).is_err() {
        return Vec::new();
    }
    vec![(folder, controllers)]
}

/// Version 2 gives controllers only to children of a group without processes of its own.
fn hand_down(folder: &Path, controllers: &[&str]) -> io::Result<()> {
    let control = folder.join("cgroup.subtree_control");
    let given = words(&control);
    if controllers.iter().all(|name| given.iter().any(|one| one == name)) {
        return Ok(());
    }
    let wanted = controllers.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    match write(&control, &wanted) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => {}
        done => return done,
    }
    let server = folder.join(SERVER);
    let _ = fs::create_dir(&server);
    let own = std::process::id().to_string();
    write(&server.join("cgroup.procs"), &own)?;
    write(&control, &wanted).inspect_err(|_| {
        // Other processes live in the group, so it is not ours to divide.
        let _ = write(&folder.join("cgroup.procs"), &own);
        let _ = fs::remove_dir(&server);
    })
}

fn version_one(mounts: &str, own: &str) -> Vec<(PathBuf, Vec<&'static str>)> {
    let mut found: Vec<(PathBuf, Vec<&'static str>)> = Vec::new();
    for controller in CONTROLLERS {
        let path = own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let named = fields.next()?.split(',').any(|one| one == controller);
            named.then(|| fields.next())?
        });
        let Some((mount, path)) = mount_of(mounts, "cgroup", controller).zip(path) else { continue };
        let folder = below(&mount, path);
        match found.iter_mut().find(|(other, _)| *other == folder) {
            Some((_, controllers)) => controllers.push(controller),
            None => found.push((folder, vec![controller])),
        }
    }
    found
}

/// Finds where a hierarchy is mounted. The fields before ` - ` describe the mount, the ones after
/// it the file system.
fn mount_of(mounts: &str, kind: &str, option: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let named = system.next()? == kind && (option.is_empty() || system.nth(1)?.split(',').any(|one| one == option));
        named.then(|| mount.split(' ').nth(4).map(PathBuf::from))?
    })
}

/// In a container the path may be the host's. The mount is then the container's own group.
fn below(mount: &Path, path: &str) -> PathBuf {
    let folder = mount.join(path.trim_start_matches('/'));
    if folder.is_dir() { folder } else { mount.to_owned() }
}

fn words(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Never creates the file: files of a control group either exist from the start or not at all.
fn write(file: &Path, value: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(file)?.write_all(value.as_bytes())
}
