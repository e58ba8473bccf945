//! The server's side: detects which isolation this machine supports, and starts workers in it.

use std::fs::{self, DirBuilder, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use milepost_model::spec::Runtime;
use nix::unistd::geteuid;
use tokio::net::unix::pipe;
use tokio::process::Command;

use super::cgroup::Groups;
use super::interpreters::{self, Interpreter, InterpreterError};
use super::jailed::{JailHandle, Jailed, Scratch};
use super::order::{Order, Walls};
use super::privileges::user_of;
use super::probe::{probe, remedy};
use super::{APP, Ability, BUILD, JailLimits, JailSettings, JailSpec, SCRATCH, hidden, landlock, network, outer};

/// What this machine supports, detected once.
#[derive(Debug)]
pub struct Jail {
    settings: JailSettings,
    namespaces: bool,
    root: bool,
    /// Gives workers of different servers on one machine different users.
    user_offset: u64,
    groups: Groups,
    /// Kept as long as workers run.
    guard: Option<network::Guard>,
    abilities: Vec<Ability>,
}

impl Jail {
    /// Runs the program once or twice to see what works. Blocks for some milliseconds.
    pub fn detect(settings: JailSettings) -> Self {
        let mut jail = Self {
            namespaces: settings.sandbox,
            root: geteuid().is_root(),
            user_offset: hash(&settings.run),
            guard: None,
            groups: Groups::detect(),
            abilities: Vec::new(),
            settings,
        };
        jail.abilities = jail.try_out();
        jail.abilities.extend(jail.groups.abilities());
        let network = jail.close_network();
        jail.abilities.push(network);
        let closed = jail.namespaces || jail.abilities.iter().any(|one| one.name == landlock::NAME && one.in_force);
        let warnings = jail.settings.hidden.iter().filter_map(|file| hidden::warning(file, closed));
        jail.abilities.extend(warnings.collect::<Vec<_>>());
        jail
    }

    /// What protects workers here, and what does not and why.
    pub fn abilities(&self) -> Vec<Ability> {
        self.abilities.clone()
    }

    /// The path of the app directory inside the sandbox.
    pub fn app_path(&self, app_folder: &Path) -> PathBuf {
        if self.namespaces { PathBuf::from(APP) } else { app_folder.to_owned() }
    }

    /// The path of the writable directory inside the sandbox.
    pub fn build_path(&self, writable: &Path) -> PathBuf {
        if self.namespaces { PathBuf::from(BUILD) } else { writable.to_owned() }
    }

    /// Finds the newest interpreter that matches `asked` and that workers may see: see
    /// [`interpreters::find`].
    pub fn interpreter(&self, runtime: Runtime, asked: &str) -> Result<Interpreter, InterpreterError> {
        interpreters::find_among(runtime, asked, |one| hidden::check(runtime, one, |path| self.refusal(path, true)))
    }

    /// Whether a path of the server's environment may be shown to builds.
    pub fn may_be_shown(&self, path: &Path) -> bool {
        path.is_absolute() && path.exists() && self.refusal(path, false).is_none()
    }

    fn refusal(&self, path: &Path, left_out: bool) -> Option<&'static str> {
        let hidden = hidden::real_paths(&self.settings.hidden);
        hidden::refusal(path, &hidden, &hidden::homes(), left_out)
    }

    /// Starts the worker. The listener becomes its descriptor 3. Must be called inside a Tokio
    /// runtime.
    ///
    /// Returns when the first stage runs, not when the worker does. A worker that cannot be started
    /// exits with [`super::JAIL_FAILED`] and a line on standard error.
    pub fn start(&self, spec: &JailSpec, listener: UnixListener) -> io::Result<Jailed> {
        open_for_others(&spec.app_folder)?;
        listener.set_nonblocking(false)?;
        let (walls, scratch) = self.walls(spec)?;
        if let (Some(folder), Walls::Root { user } | Walls::Plain { user: Some(user), .. }) = (&spec.writable, &walls) {
            give(folder, *user)?;
        }
        let group = self.groups.create(spec.limits.processes)?;
        if spec.writable.is_some() {
            // Without cgroups, only niceness lowers the build's priority.
            group.yield_processor().inspect_err(|_| group.remove())?;
        }
        let order = Order {
            walls,
            stages: self.settings.program.clone(),
            mount_point: self.mount_point(),
            program: spec.program.clone(),
            args: spec.args.clone(),
            env: spec.env.clone(),
            app_folder: spec.app_folder.clone(),
            readable: spec.readable.clone(),
            writable: spec.writable.clone(),
            // Resolved for each worker, because the file may have been replaced by a symlink.
            hidden: hidden::real_paths(&self.settings.hidden),
            limits: spec.limits,
            groups: group.folders().to_vec(),
            probe: false,
        };
        let started = self.spawn(&order, &listener);
        let (child, lifeline, stdout, stderr) = started.inspect_err(|_| group.remove())?;
        let pid = child.id().ok_or_else(|| io::Error::other("the sandbox ended at once"))?;
        let app = self.app_path(&spec.app_folder);
        Ok(Jailed { child, stdout, stderr, handle: JailHandle::new(pid, lifeline, group, app, scratch) })
    }

    fn spawn(
        &self,
        order: &Order,
        listener: &UnixListener,
    ) -> io::Result<(tokio::process::Child, UnixStream, pipe::Receiver, pipe::Receiver)> {
        let (lifeline, theirs) = UnixStream::pair()?;
        let (stdout_end, stdout) = pipe::pipe()?;
        let (stderr_end, stderr) = pipe::pipe()?;
        let child = Command::new(&self.settings.program)
            .arg(outer::STAGE)
            .env_clear()
            .envs(super::STAGE_ENVIRONMENT)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(stdout_end.into_blocking_fd()?))
            .stderr(Stdio::from(stderr_end.into_blocking_fd()?))
            // A Ctrl-C in the server's terminal is for the server, which lets its workers finish.
            .process_group(0)
            .spawn()?;
        order.send(&lifeline, listener.as_fd())?;
        lifeline.set_nonblocking(true)?;
        Ok((child, lifeline, stdout, stderr))
    }

    fn walls(&self, spec: &JailSpec) -> io::Result<(Walls, Scratch)> {
        let user = self.root.then(|| user_of(spec.instance, self.user_offset, spec.writable.is_some()));
        match (self.namespaces, user) {
            (true, Some(user)) => Ok((Walls::Root { user }, Scratch::inside(SCRATCH))),
            (true, None) => Ok((Walls::User, Scratch::inside(SCRATCH))),
            (false, user) => {
                let folder = self.settings.run.join(format!("scratch-{}", spec.instance));
                let needed =
                    spec.readable.iter().chain(&spec.writable).chain([&spec.program, &spec.app_folder, &folder]);
                let user = user.filter(|_| needed.into_iter().all(|path| others_can_reach(path)));
                let scratch = Scratch::make(folder, user)?;
                let path = scratch.path().to_owned();
                Ok((Walls::Plain { user, scratch: path, close_files: self.settings.sandbox }, scratch))
            }
        }
    }

    fn close_network(&mut self) -> Ability {
        if !self.root {
            return Ability::no("network", format!("{}; {}", network::OPEN, network::REMEDY));
        }
        // The parent of this process's run directory is the same after a restart.
        let seed = self.settings.run.ancestors().nth(2).unwrap_or(&self.settings.run);
        let (guard, ability) = network::raise(seed, &self.settings.closed_ports);
        self.guard = guard;
        ability
    }

    fn mount_point(&self) -> PathBuf {
        self.settings.run.join("root")
    }

    /// Falls back to limits only if namespaces are refused.
    fn try_out(&mut self) -> Vec<Ability> {
        if let Err(error) = prepare(&self.settings.run, &self.mount_point()) {
            let detail = format!("{} cannot be used: {error}", self.settings.run.display());
            self.namespaces = false;
            return vec![Ability::no("namespaces", detail)];
        }
        let mut abilities = Vec::new();
        if self.namespaces {
            match self.probe_walls() {
                Ok(found) => return found,
                Err(reason) => {
                    self.namespaces = false;
                    abilities.push(Ability::no("namespaces", format!("{reason}; {}", remedy())));
                }
            }
        } else {
            abilities.push(Ability::no("namespaces", "switched off by the server's settings"));
        }
        match self.probe_walls() {
            Ok(found) => abilities.extend(found),
            Err(reason) => abilities.push(Ability::no("limits", reason)),
        }
        abilities
    }

    fn probe_walls(&self) -> Result<Vec<Ability>, String> {
        let spec = JailSpec {
            program: PathBuf::from("/"),
            args: Vec::new(),
            env: Vec::new(),
            app_folder: self.mount_point(),
            readable: Vec::new(),
            writable: None,
            limits: JailLimits { processes: 16, open_files: 64, file_size: 1 << 20, scratch: 1 << 20 },
            instance: 0,
        };
        // The scratch directory is removed at the end of this function, after the probe.
        let (walls, _scratch) = self.walls(&spec).map_err(|error| error.to_string())?;
        probe(&Order {
            walls,
            stages: self.settings.program.clone(),
            mount_point: self.mount_point(),
            program: spec.program,
            args: spec.args,
            env: spec.env,
            app_folder: spec.app_folder,
            readable: spec.readable,
            writable: spec.writable,
            hidden: Vec::new(),
            limits: spec.limits,
            groups: Vec::new(),
            probe: true,
        })
    }
}

/// A hash of a path that is stable across processes of this program.
pub(super) fn hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

fn prepare(run: &Path, mount_point: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(run)?;
    DirBuilder::new().recursive(true).mode(0o755).create(mount_point)
}

fn open_for_others(folder: &Path) -> io::Result<()> {
    let mode = fs::metadata(folder)?.permissions().mode();
    if mode & 0o005 == 0o005 {
        return Ok(());
    }
    fs::set_permissions(folder, Permissions::from_mode(mode | 0o005))
}

/// Recursively changes the owner of a directory. Symlinks are changed themselves, not their
/// targets.
fn give(path: &Path, user: u32) -> io::Result<()> {
    lchown(path, Some(user), Some(user))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    Ok(())
}

/// Whether a user that owns nothing can reach a path. A path that does not exist yet is judged by
/// its ancestors.
fn others_can_reach(path: &Path) -> bool {
    path.ancestors().skip(1).all(|folder| {
        fs::metadata(folder).map_or(folder.as_os_str().is_empty(), |found| found.permissions().mode() & 0o001 != 0)
    })
}
