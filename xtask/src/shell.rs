//! Runs other programs, and finds the directories to run them in.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

/// The root of the repository.
pub fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The target directory that this program was built into, where the tests will be built too.
pub fn target_dir() -> Result<PathBuf> {
    let program = env::current_exe().context("could not find the path of this program")?;
    let tagged = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    Ok(tagged.map_or_else(|| root().join("target"), Path::to_path_buf))
}

static LINT: AtomicBool = AtomicBool::new(false);

/// Makes every later cargo compile the workspace's crates with clippy, with warnings as errors. A
/// cargo without it recompiles what depends on them, so use it for a whole run or not at all.
pub fn lint_what_is_built() {
    LINT.store(true, Ordering::Relaxed);
}

/// The cargo that runs this program.
pub fn cargo(args: &[&str]) -> Command {
    let program = PathBuf::from(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let mut command = Command::new(&program);
    command.args(args).current_dir(root());
    if LINT.load(Ordering::Relaxed) {
        // Does what `cargo clippy -- -D warnings` does, which cannot build.
        command.env("RUSTC_WORKSPACE_WRAPPER", program.with_file_name("clippy-driver"));
        command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }
    command
}

pub fn command(program: impl AsRef<Path>, args: &[&str]) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(args).current_dir(root());
    command
}

/// Runs the command with this program's output streams. Fails if the command fails.
pub fn run(command: &mut Command) -> Result<()> {
    let text = display(command);
    let status = command.status().with_context(|| format!("could not run `{text}`"))?;
    if !status.success() {
        bail!("`{text}` failed ({status})");
    }
    Ok(())
}

/// Whether the command can be run and succeeds. Discards its output.
pub fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Returns the standard output of a command that must succeed.
pub fn read(command: &mut Command) -> Result<String> {
    let text = display(command);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("could not run `{text}`"))?;
    if !output.status.success() {
        bail!("`{text}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{text}` printed something that is not text"))
}

fn display(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
