//! The environment of a command.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use super::normalize::Normalizer;
use super::output::Output;
use super::server::Server;
use crate::target_dir;

/// Owns nothing and has no name on the machine.
const ORDINARY_USER: u32 = 4242;

/// A home directory with a working directory in it, and the environment variables of commands.
/// Clones share the directories and have their own variables. The directories are removed with the
/// last clone.
#[derive(Clone)]
pub struct CliEnv {
    home: Arc<TempDir>,
    binary: PathBuf,
    variables: BTreeMap<String, String>,
    /// The user that commands and servers run as, if not the test's own.
    user: Option<u32>,
    /// A program and its first arguments that start `milepost`.
    wrapper: Vec<String>,
}

impl CliEnv {
    /// An environment for the `milepost` that cargo built with the test.
    #[expect(clippy::new_without_default, reason = "making folders and looking for a binary is no default value")]
    pub fn new() -> Self {
        Self::with_binary(&milepost_binary())
    }

    /// An environment that runs `binary` as `milepost`.
    pub fn with_binary(binary: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("milepost-home-").tempdir().unwrap();
        for folder in ["work", "tmp"] {
            fs::create_dir(home.path().join(folder)).unwrap();
        }
        let text = |folder: &str| home.path().join(folder).to_str().unwrap().to_owned();
        let variables = BTreeMap::from([
            ("HOME".to_owned(), text("").trim_end_matches('/').to_owned()),
            ("TMPDIR".to_owned(), text("tmp")),
            ("PATH".to_owned(), search_path()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TZ".to_owned(), "UTC".to_owned()),
            ("TERM".to_owned(), "dumb".to_owned()),
            ("COLUMNS".to_owned(), "120".to_owned()),
            ("MILEPOST_DATA".to_owned(), text("data")),
            ("MILEPOST_TEST_SEED".to_owned(), "1".to_owned()),
            ("MILEPOST_TEST_CLOCK".to_owned(), "2026-01-02T03:04:05Z".to_owned()),
        ]);
        Self { home: Arc::new(home), binary: binary.to_owned(), variables, user: None, wrapper: Vec::new() }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The working directory of commands. Relative paths of [`CliEnv::write_file`] start here.
    pub fn work_dir(&self) -> PathBuf {
        self.home().join("work")
    }

    /// The server's data directory. It does not exist before a server has run.
    pub fn data_dir(&self) -> PathBuf {
        PathBuf::from(&self.variables["MILEPOST_DATA"])
    }

    /// Sets a variable for commands and servers that are started from now on.
    pub fn set(&mut self, variable: &str, value: &str) {
        self.variables.insert(variable.to_owned(), value.to_owned());
    }

    pub fn unset(&mut self, variable: &str) {
        self.variables.remove(variable);
    }

    /// Runs commands and servers without root from now on, and gives that user the home directory
    /// with all that is in it. Changes nothing if the test has no root either.
    pub fn become_ordinary_user(&mut self) {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let everyone = fs::Permissions::from_mode(0o755);
        if !self.binary.ancestors().skip(1).all(|folder| folder.metadata().is_ok_and(|found| found.mode() & 1 != 0)) {
            let copy = self.home().join("milepost");
            fs::copy(&self.binary, &copy).unwrap();
            self.binary = copy;
        }
        fs::set_permissions(&self.binary, everyone).unwrap();
        give(self.home(), ORDINARY_USER);
        self.user = Some(ORDINARY_USER);
    }

    /// Starts commands and servers through another program, which gets `milepost` and its arguments
    /// after its own.
    pub fn wrap(&mut self, wrapper: &[&str]) {
        self.wrapper = wrapper.iter().map(|&word| word.to_owned()).collect();
    }

    /// Writes a file below the working directory, and creates its parent directories.
    pub fn write_file(&self, relative: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work_dir().join(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        if let Some(user) = self.user {
            give(&self.work_dir(), user);
        }
        path
    }

    /// The command, not started, for tests that [`CliEnv::run`] does not suffice for.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut words = self.wrapper.iter().map(AsRef::as_ref).chain([self.binary.as_os_str()]);
        let mut command = Command::new(words.next().unwrap());
        command
            .args(words)
            .args(args)
            .env_clear()
            .envs(&self.variables)
            .current_dir(self.work_dir())
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Runs `milepost ARGS` to its end, whatever its exit code, with an empty standard input.
    pub fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output();
        self.finish(args, output)
    }

    /// Like [`CliEnv::run`], in a directory below the working directory.
    pub fn run_in(&self, relative: &str, args: &[&str]) -> Output {
        let output = self.command(args).current_dir(self.work_dir().join(relative)).output();
        self.finish(args, output)
    }

    /// Like [`CliEnv::run`], with `input` as standard input.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("run {}: {error}", self.binary.display()));
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // In its own thread, because the command may fill its output before it has read its
            // input. Errors are ignored, because a command need not read all of its input.
            scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
            child.wait_with_output()
        });
        self.finish(args, output)
    }

    /// Starts `milepost serve` on free ports and waits until it is ready.
    pub fn server(&self) -> Server {
        self.server_with(&[])
    }

    /// Like [`CliEnv::server`], with more arguments for `serve`.
    pub fn server_with(&self, args: &[&str]) -> Server {
        Server::start(self.clone(), args)
    }

    fn finish(&self, args: &[&str], output: std::io::Result<std::process::Output>) -> Output {
        let output = output.unwrap_or_else(|error| panic!("run {}: {error}", self.binary.display()));
        Output::new(args, output, &Normalizer::for_home(self.home()))
    }
}

/// Changes the owner of a directory and everything in it. Symlinks are changed themselves.
fn give(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path(), user));
    }
}

/// The system's program directories, followed by the outer `PATH`, for the interpreters of
/// functions.
fn search_path() -> String {
    let system = "/usr/local/bin:/usr/bin:/bin";
    env::var("PATH").map_or_else(|_| system.to_owned(), |outer| format!("{system}:{outer}"))
}

/// cargo and nextest pass the path of the binary to integration tests of the CLI crate. Tests of
/// other crates use the binary that cargo built last.
fn milepost_binary() -> PathBuf {
    let told = ["CARGO_BIN_EXE_milepost", "NEXTEST_BIN_EXE_milepost"].iter().find_map(env::var_os);
    if let Some(path) = told {
        return PathBuf::from(path);
    }
    let test = env::current_exe().expect("the path of the running test");
    let folders = test.ancestors().take_while(|folder| folder.starts_with(target_dir()));
    let found = folders.map(|folder| folder.join("milepost")).find(|binary| binary.is_file());
    found.expect("there is no `milepost` in the target folder; `cargo build` makes it")
}
