//! Looks for the interpreters on the PATH that a server started here would use.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::check::Check;

/// An interpreter that takes longer to print its version counts as missing.
const PATIENCE: Duration = Duration::from_secs(10);

pub async fn checks() -> Vec<Check> {
    let (python, node) = tokio::join!(version("python3"), version("node"));
    vec![interpreter("python", python), interpreter("node", node)]
}

fn interpreter(runtime: &str, version: Option<String>) -> Check {
    match version {
        Some(version) => Check::ok(runtime, version),
        None => missing(runtime, "not found on the PATH", false),
    }
}

/// A missing runtime is bad if the app needs it, otherwise a warning.
pub fn missing(runtime: &str, problem: &str, needed: bool) -> Check {
    let fix = match runtime {
        "python" => "install Python 3.9 or newer, like `apt install python3`".to_owned(),
        "node" => "install Node.js 18 or newer, like `apt install nodejs`".to_owned(),
        other => format!("install the runtime of {other} functions"),
    };
    if needed {
        Check::bad(runtime, format!("{problem}; functions of this app need it"), fix)
    } else {
        Check::warn(runtime, format!("{problem}; its functions cannot run"), fix)
    }
}

async fn version(program: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
