//! An app whose functions follow their input, and ways to wait for the results of executions.

use std::time::Duration;

use milepost_client::Client;
use milepost_model::Selector;
use milepost_model::execution::{CauseKind, Execution, ExecutionFilter, NewExecution};
use milepost_testkit::cli::CliEnv;
use milepost_testkit::eventually_blocking;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::common::World;

pub const APP: &str = "shop";
/// Long enough for cold starts of interpreters on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const MANIFEST: &str = "
app: shop
functions:
  echo: { env: python, src: echo/ }
  fail: { env: python, src: fail/, timeout: 1s }
  conf: { env: python, src: conf/ }
  wait: { env: python, src: wait/, timeout: 60s, scale: { max: 24 } }
  alone: { env: python, src: wait/, timeout: 120s, scale: { max: 1 } }
";

pub const ECHO: &str = "
def main(request):
    given = request.get_json(silent=True)
    print('got', given)
    return {'answer': 1, 'given': given, 'execution': request.headers.get('milepost-execution')}
";

const FAIL: &str = "
import time

def main(request):
    how = request.get_json()['how']
    print('about to', how, flush=True)
    if how == 'throw':
        raise ValueError('as asked')
    if how == 'sleep':
        time.sleep(100)
    if how == 'drip':
        time.sleep(0.7)
        return (time.sleep(0.7) or piece for piece in ['late'])
    return 'no such order', 404
";

pub const CONF: &str = "
import milepost

def main():
    return {'word': milepost.config.get('word')}
";

const WAIT: &str = "
import socket

def main(port):
    socket.create_connection(('127.0.0.1', port)).recv(1)
    return {'answer': 1}
";

pub struct Stage {
    pub world: World,
    runtime: Runtime,
}

impl Stage {
    pub fn new(args: &[&str]) -> Self {
        Self::with_manifest(MANIFEST, args)
    }

    pub fn with_manifest(manifest: &str, args: &[&str]) -> Self {
        let mut env = CliEnv::new();
        env.unset("MILEPOST_TEST_SEED");
        env.unset("MILEPOST_TEST_CLOCK");
        env.set("MILEPOST_APP", APP);
        env.write_file("milepost.yaml", manifest);
        for (folder, text) in [("echo", ECHO), ("fail", FAIL), ("conf", CONF), ("wait", WAIT)] {
            env.write_file(&format!("{folder}/main.py"), text);
        }
        let stage = Self { world: World::in_env(env, args), runtime: Runtime::new().unwrap() };
        stage.deploy();
        stage
    }

    /// Deploys the folder and returns the release.
    pub fn deploy(&self) -> String {
        self.world.json("deploy")["release"]["id"].as_str().unwrap().to_owned()
    }

    pub fn client(&self) -> Client {
        self.world.client()
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Queues an execution of the newest version.
    pub fn queue(&self, function: &str, input: Option<Value>) -> Execution {
        let new = new(function, input, false);
        self.block_on(self.client().execution_create(APP, &new)).unwrap()
    }

    pub fn get(&self, id: &str) -> Execution {
        self.block_on(self.client().execution_get(APP, id)).unwrap()
    }

    /// Waits until the execution has ended.
    #[track_caller]
    pub fn ended(&self, id: &str) -> Execution {
        eventually_blocking(PATIENCE, || self.get(id).status.is_ended());
        self.get(id)
    }

    /// Executions with this cause, newest first.
    pub fn caused_by(&self, cause: CauseKind) -> Vec<Execution> {
        self.listed(&ExecutionFilter { cause: Some(cause), ..ExecutionFilter::default() })
    }

    pub fn listed(&self, filter: &ExecutionFilter) -> Vec<Execution> {
        self.block_on(self.client().execution_list(APP, filter, 1000, None)).unwrap().items
    }
}

pub fn new(function: &str, input: Option<Value>, sync: bool) -> NewExecution {
    NewExecution {
        function: function.parse().unwrap(),
        version: Selector::Latest,
        input: input.map(Into::into),
        sync,
        description: String::new(),
    }
}
