//! Paths of the installed peers and the served files, and a directory that is removed after the
//! measurements.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{self, Target};
use super::process::Running;

/// The search path for every server and interpreter, so that both sides of a comparison run the
/// same Python and Node, without wrappers from the developer's `PATH`.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin";
const START_DEADLINE: Duration = Duration::from_secs(30);

pub struct Place {
    folder: TempDir,
    /// The directory `target/tools`.
    tools: PathBuf,
    milepost: PathBuf,
}

impl Place {
    pub fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("milepost-bench-").tempdir()?;
        // nginx's workers run as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let named = |variable: &str| {
            std::env::var_os(variable)
                .map(PathBuf::from)
                .with_context(|| format!("{variable} is not set; use `cargo xtask bench serve`"))
        };
        Ok(Self { folder, tools: named("MILEPOST_TOOLS")?, milepost: named("MILEPOST_BIN")? })
    }

    /// Creates a directory below the temporary one.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        Ok(folder)
    }

    pub fn milepost(&self) -> &Path {
        &self.milepost
    }

    /// A program of the virtual environment with the Python peers.
    pub fn python_tool(&self, name: &str) -> PathBuf {
        self.tools.join("serve-python/bin").join(name)
    }

    pub fn node_framework(&self) -> PathBuf {
        self.tools.join("serve-node/node_modules/@google-cloud/functions-framework/build/src/main.js")
    }

    /// The repository's `bench/fixtures`.
    pub fn fixtures() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
    }

    /// Copies the fixtures of one language, because Python writes next to what it reads.
    pub fn copy_of(&self, language: &str) -> Result<PathBuf> {
        let to = self.folder(&format!("fixtures-{language}"))?;
        for file in fs::read_dir(Self::fixtures().join(language)).context("could not read the fixtures")? {
            let file = file?;
            if file.file_type()?.is_file() {
                fs::copy(file.path(), to.join(file.file_name()))?;
            }
        }
        Ok(to)
    }

    pub fn versions(&self) -> Result<Value> {
        let framework = self.node_framework();
        let package = framework.ancestors().nth(3).map(|folder| folder.join("package.json")).unwrap_or_default();
        let package: Value = serde_json::from_slice(&fs::read(package).unwrap_or_default()).unwrap_or_default();
        Ok(json!({
            "milepost": first_line(Command::new(&self.milepost).arg("--version")),
            "nginx": first_line(Command::new(program("nginx")?).arg("-v")),
            "wrk": first_line(Command::new("wrk").arg("-v")),
            "python": first_line(Command::new(program("python3")?).arg("--version")),
            "node": first_line(Command::new(program("node")?).arg("--version")),
            "pythonPackages": lines(Command::new(self.python_tool("pip")).args(["freeze", "--disable-pip-version-check"])),
            "nodeFunctionsFramework": package["version"],
            "commit": first_line(Command::new("git").args(["describe", "--always", "--dirty"])),
        }))
    }
}

/// A program of the system, independent of the developer's `PATH`.
pub fn program(name: &str) -> Result<PathBuf> {
    let found = PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    found.with_context(|| format!("there is no `{name}` in {PATH}; `cargo xtask bench serve` installs what it needs"))
}

/// A currently free port.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Retries until the server responds as expected.
pub fn wait_for(target: &Target, body: &[u8], server: &mut Running, log: &Path) -> Result<()> {
    let started = Instant::now();
    loop {
        let answer = client::get(target);
        if answer.as_ref().is_ok_and(|answer| answer.status == 200 && answer.body == body) {
            return Ok(());
        }
        if server.has_ended() || started.elapsed() > START_DEADLINE {
            let seen = match answer {
                Ok(answer) => format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)),
                Err(error) => format!("{error:#}"),
            };
            let said = fs::read_to_string(log).unwrap_or_default();
            bail!("{}{} does not give the expected answer but: {seen}\nIt said:\n{said}", target.address, target.path);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn first_line(command: &mut Command) -> String {
    lines(command).into_iter().next().unwrap_or_else(|| "unknown".to_owned())
}

/// The output of a program, including standard error, where some print their version.
fn lines(command: &mut Command) -> Vec<String> {
    let Ok(output) = command.output() else { return Vec::new() };
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}
