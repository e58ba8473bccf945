use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use milepost_testkit::eventually;
use tokio::sync::watch;

use crate::stage::{Stage, get};

const MANIFEST: &str = "
app: shop
functions:
  good: { env: python, src: good/, scale: { min: 1 } }
  bad: { env: python, src: bad/, timeout: 1s, memory: 64Mi, scale: { max: 2 } }
  broken: { env: python, src: broken/ }
  stuck: { env: python, src: stuck/, timeout: 1s }
  missing: { env: python, src: good/, secrets: [NOT_SET] }
routes:
  - GET /good: good
  - GET /bad/{how}: bad
  - GET /broken: broken
  - GET /stuck: stuck
  - GET /missing: missing
";

const BAD: &str = r#"
import os
import signal
import sys
import time

from flask import request


def main():
    how = request.view_args["how"]
    print("about to", how, flush=True)
    if how == "throw":
        raise ValueError("as asked")
    if how == "exit":
        sys.exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "loop":
        while True:
            pass
    if how == "memory":
        return str(len(bytearray(2_000_000_000)))
    if how == "flood":
        line = "x" * 1000
        for _ in range(100_000):
            print(line)
        return "flooded"
    if how == "forks":
        children = 0
        while True:
            if os.fork() == 0:
                time.sleep(100)
            children += 1
    if how == "hang":
        def pieces():
            yield "a beginning"
            time.sleep(100)
        return pieces()
    return "fine"
"#;

const FILES: &[(&str, &str)] = &[
    ("milepost.yaml", MANIFEST),
    ("good/main.py", "def main():\n    return 'good'\n"),
    ("bad/main.py", BAD),
    ("broken/main.py", "import no_such_module\n"),
    ("stuck/main.py", "import time\nprint('about to be never ready', flush=True)\ntime.sleep(1000)\n"),
];

/// The possible statuses of each fault: which one depends on what detects it first on this machine.
const FAULTS: &[(&str, &[u16], &str)] = &[
    ("/bad/throw", &[500], "ValueError: as asked"),
    ("/bad/exit", &[502], "about to exit"),
    ("/bad/kill", &[502], "about to kill"),
    ("/bad/loop", &[504], "about to loop"),
    ("/bad/memory", &[500, 502], "about to memory"),
    ("/bad/forks", &[500, 502, 504], "about to forks"),
    ("/broken", &[503], "no_such_module"),
    ("/stuck", &[503], "was not ready within 30 s; its log has what it printed"),
    ("/missing", &[503], "NOT_SET"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_costs_its_own_request_and_nothing_else() {
    let stage = Stage::new("shop", &[], FILES);
    stage.deploy_unchecked();
    let alone = Steady::start(&stage);
    alone.seen(200).await;
    let alone = alone.stop().await;
    let steady = Steady::start(&stage);
    for (path, statuses, said) in FAULTS {
        let answer = stage.get(path).await;
        assert!(statuses.contains(&answer.status), "{path}: {answer:?}");
        let log = stage.log_of(&answer.request);
        assert!(log.contains(said), "{path}: the log of {} has no `{said}`:\n{log}", answer.request);
        assert_eq!(stage.get("/bad/none").await.body, "fine", "after {path}");
    }
    let printed = stage.world.ok("logs --function stuck --version 1");
    assert!(printed.contains("about to be never ready"), "{printed}");
    let beside = steady.stop().await;
    println!("a healthy function alone: {alone}; beside the faults: {beside}");
    // A fault lasts up to a second, so a request that waited for one would take as long.
    assert!(beside.percentile(99) < Duration::from_millis(500), "alone {alone}, beside the faults {beside}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_that_cannot_start_is_in_the_servers_log_too() {
    let stage = Stage::new("shop", &[], FILES);
    stage.deploy_unchecked();
    assert_eq!(stage.get("/broken").await.status, 503);
    let line = || {
        let log = stage.world.server.stderr();
        log.lines().find(|line| line.contains("no instance of a function became ready")).map(str::to_owned)
    };
    // The line is still in the pipe.
    eventually(Duration::from_secs(30), async || line().is_some()).await;
    let line = line().unwrap();
    for text in ["WARN", "app=shop", "function=broken"] {
        assert!(line.contains(text), "`{text}` is not in {line}");
    }
    assert!(!line.contains("no_such_module"), "what a function says is in its own log: {line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_output_is_cut_and_said() {
    let stage = Stage::new("shop", &[], FILES);
    stage.deploy_unchecked();
    let answer = stage.get("/bad/flood").await;
    // 100 MB may take longer than the function's timeout of one second.
    assert!([200, 504].contains(&answer.status), "{answer:?}");
    let log = stage.world.ok(&format!("logs --request {} --limit 10000", answer.request));
    assert!(log.len() < 2_000_000, "{} bytes of it were kept", log.len());
    assert!(log.contains("dropped"), "{}", &log[log.len().saturating_sub(500)..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_stops_halfway_is_cut_at_its_deadline() {
    let stage = Stage::new("shop", &[], FILES);
    stage.deploy_unchecked();
    let begun = Instant::now();
    let asked = stage.client.get(stage.url("/bad/hang")).header("host", "shop.localhost").send().await.unwrap();
    let request = asked.headers()["milepost-request-id"].to_str().unwrap().to_owned();
    let cut = asked.text().await;
    assert!(cut.is_err(), "{cut:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let log = stage.log_of(&request);
    assert!(log.contains("sent nothing more for 1 s") && log.contains("about to hang"), "{log}");
    assert_eq!(stage.get("/bad/none").await.body, "fine");
}

/// Sends requests to a healthy function, one after the other. None may fail.
struct Steady {
    stop: Arc<AtomicBool>,
    count: watch::Receiver<usize>,
    task: tokio::task::JoinHandle<Latencies>,
}

/// Durations of requests, sorted.
struct Latencies(Vec<Duration>);

impl Latencies {
    fn percentile(&self, percent: usize) -> Duration {
        self.0.get((self.0.len() * percent / 100).min(self.0.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, most, slowest] = [50, 99, 100].map(|percent| self.percentile(percent));
        write!(f, "{} requests, p50 {median:?}, p99 {most:?}, slowest {slowest:?}", self.0.len())
    }
}

impl Steady {
    fn start(stage: &Stage) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (client, url, until) = (stage.client.clone(), stage.url("/good"), stop.clone());
        let (counted, count) = watch::channel(0);
        let task = tokio::spawn(async move {
            let mut taken = Vec::new();
            while !until.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let answer = get(&client, &url, "shop").await.unwrap_or_else(|error| panic!("{error:?}"));
                assert_eq!((answer.status, answer.body.as_str()), (200, "good"));
                taken.push(begun.elapsed());
                counted.send_replace(taken.len());
            }
            taken.sort();
            Latencies(taken)
        });
        Self { stop, count, task }
    }

    /// Waits until this many requests were answered.
    async fn seen(&self, requests: usize) {
        self.count.clone().wait_for(|count| *count >= requests).await.unwrap();
    }

    async fn stop(self) -> Latencies {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}
