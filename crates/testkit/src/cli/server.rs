//! A `milepost serve` controlled by the test.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::env::CliEnv;
use super::normalize::Normalizer;

/// Printed by the server on standard error once it accepts requests.
const READY: &str = "Milepost is ready";
const START_DEADLINE: Duration = Duration::from_secs(30);

/// A running server. Dropping it kills it.
pub struct Server {
    env: CliEnv,
    args: Vec<String>,
    child: Child,
    /// The content of the server's `server.json`.
    facts: Value,
    stderr: Arc<Mutex<String>>,
}

impl Server {
    pub(super) fn start(env: CliEnv, args: &[&str]) -> Self {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let stderr = Arc::default();
        let (child, facts) = launch(&env, &args, &stderr);
        Self { env, args, child, facts, stderr }
    }

    /// The address of the API, `http://127.0.0.1:PORT`.
    pub fn api(&self) -> &str {
        self.fact("api")
    }

    /// The address of the gateway, `http://localhost:PORT/`.
    pub fn gateway(&self) -> &str {
        self.fact("gateway")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The server's standard error so far, across restarts, normalised.
    pub fn stderr(&self) -> String {
        Normalizer::for_home(self.env.home()).apply(&self.stderr.lock().unwrap())
    }

    /// Kills the server with SIGKILL, as a crash or the kernel would.
    pub fn kill9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the server with SIGTERM and waits for its end.
    pub fn stop(&mut self) -> ExitStatus {
        if matches!(self.child.try_wait(), Ok(None)) {
            kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        }
        self.child.wait().unwrap()
    }

    /// Restarts the server on the same data, stopping it first if it still runs. Its ports change.
    pub fn restart(&mut self) {
        self.stop();
        (self.child, self.facts) = launch(&self.env, &self.args, &self.stderr);
    }

    fn fact(&self, name: &str) -> &str {
        self.facts[name].as_str().unwrap_or_else(|| panic!("server.json has no `{name}`: {}", self.facts))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- the server said\n{}---", self.stderr());
        }
    }
}

fn launch(env: &CliEnv, args: &[String], stderr: &Arc<Mutex<String>>) -> (Child, Value) {
    let mut command = env.command(&["serve", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"]);
    let mut child =
        command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start `milepost serve`");
    let (ready, wait) = mpsc::channel();
    let pipe = child.stderr.take().unwrap();
    let collected = Arc::clone(stderr);
    thread::spawn(move || collect(pipe, &collected, &ready));
    if let Err(error) = wait.recv_timeout(START_DEADLINE) {
        let _ = child.kill();
        let ended = child.wait().unwrap();
        let said = stderr.lock().unwrap();
        match error {
            RecvTimeoutError::Timeout => panic!("the server was not ready in {START_DEADLINE:?}; it said:\n{said}"),
            RecvTimeoutError::Disconnected => {
                panic!("the server ended before it was ready ({ended}); it said:\n{said}")
            }
        }
    }
    let path = env.data_dir().join("server.json");
    let facts = fs::read(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    (child, serde_json::from_slice(&facts).expect("server.json in JSON"))
}

/// Reads to the end, so that the server never blocks on a full pipe.
fn collect(pipe: impl Read, collected: &Mutex<String>, ready: &Sender<()>) {
    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
        let is_ready = line.starts_with(READY);
        let mut text = collected.lock().unwrap();
        text.push_str(&line);
        text.push('\n');
        drop(text);
        if is_ready {
            let _ = ready.send(());
        }
    }
}
