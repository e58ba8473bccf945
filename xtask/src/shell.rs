//! Running other programs, and the folders they run in.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the repository.
pub fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The target folder this program was built into, which is also where the tests will be.
pub fn target_dir() -> Result<PathBuf> {
    let program = env::current_exe().context("could not find the path of this program")?;
    let tagged = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    Ok(tagged.map_or_else(|| root().join("target"), Path::to_path_buf))
}

/// The cargo that runs this program.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

pub fn command(program: impl AsRef<Path>, args: &[&str]) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(args).current_dir(root());
    command
}

/// Runs the command with this program's own output, and fails when it does.
pub fn run(command: &mut Command) -> Result<()> {
    let text = display(command);
    let status = command.status().with_context(|| format!("could not run `{text}`"))?;
    if !status.success() {
        bail!("`{text}` failed ({status})");
    }
    Ok(())
}

/// Whether the command can be run and succeeds; what it prints is lost.
pub fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// The standard output of a command that must succeed.
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
