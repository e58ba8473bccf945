//! How instances are started, reused and stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use milepost_runtime::{Function, SealedValue};

use crate::harness::{Place, app, eventually, processes_of};

const PID: &str = "import os\ndef main(request):\n    return str(os.getpid())\n";

#[tokio::test]
async fn reuses_the_instance_of_a_python_function() {
    let place = Place::new().await;
    let hello = place.python("import os\ndef main(request):\n    return 'hello %d' % os.getpid()\n", |_| {});
    let first = place.call(&hello, "r1").await.expect("an answer");
    assert_eq!(first.status, 200);
    assert_eq!(first.headers["content-type"], "text/html; charset=utf-8");
    assert!(first.text().starts_with("hello "), "{}", first.text());
    for _ in 0..20 {
        assert_eq!(place.call(&hello, "r2").await.expect("an answer").text(), first.text());
    }
    assert_eq!(place.status(&hello).instances, 1);
    place.stop().await;
}

#[tokio::test]
async fn calls_a_node_function() {
    let place = Place::new().await;
    let code = "module.exports = async (context) => ({status: 201, body: 'hi ' + context.request.method})";
    let hello = place.node(code, |_| {});
    let answer = place.call(&hello, "r1").await.expect("an answer");
    assert_eq!((answer.status, answer.text()), (201, "hi POST"));
    place.stop().await;
}

#[tokio::test]
async fn passes_variables_secrets_and_configuration() {
    let place = Place::new().await;
    let code = "
import os, json
def main(request):
    return {'variable': os.environ['COLOUR'], 'secret': os.environ['TOKEN'], 'config': json.loads(os.environ['MILEPOST_CONFIG'])}
";
    let function = place.python(code, |function| {
        function.variables.insert("COLOUR".to_owned(), "grün".to_owned());
        function
            .secrets
            .push(SealedValue { name: "TOKEN".parse().expect("a name"), sealed: b"s3cret".as_slice().into() });
    });
    let answer = place.call(&function, "r1").await.expect("an answer");
    let found: serde_json::Value = serde_json::from_str(answer.text()).expect("JSON");
    assert_eq!(found, serde_json::json!({"variable": "grün", "secret": "s3cret", "config": {"greeting": "hi"}}));
    place.stop().await;
}

#[tokio::test]
async fn the_first_call_takes_a_spare_which_is_replaced() {
    let place = Place::with(|settings| {
        settings.spares.python = 2;
        settings.spares.at_start = true;
    })
    .await;
    eventually("two spares are there", || workers(&place) == 2).await;
    let code = "import helper\ndef main(request):\n    return helper.TEXT + open('data/deep.txt').read()\n";
    let files: [(&str, &[u8]); 3] =
        [("main.py", code.as_bytes()), ("helper.py", b"TEXT = 'linked '"), ("data/deep.txt", b"deep")];
    let function = place.function(milepost_model::spec::Runtime::Python, &files, |_| {});
    assert_eq!(place.call(&function, "r1").await.expect("an answer").text(), "linked deep");
    eventually("a new spare is there", || workers(&place) == 3).await;
    place.stop().await;
}

/// The number of interpreters that were started for a place.
fn workers(place: &Place) -> usize {
    processes_of(place.folder.path()).len()
}

#[tokio::test]
async fn stops_an_idle_instance_and_starts_one_for_the_next_call() {
    let place = Place::new().await;
    let function = place.python(PID, |function| function.scale.idle_ms = 200);
    place.call(&function, "r1").await.expect("an answer");
    eventually("it sleeps", || place.status(&function).instances == 0 && workers(&place) == 0).await;
    place.call(&function, "r2").await.expect("an answer");
    assert_eq!(place.status(&function).restarts, 0, "sleeping is not a fault");
    place.stop().await;
}

#[tokio::test]
async fn keeps_the_minimum_warm_and_replaces_dead_instances() {
    let place = Place::new().await;
    let function = place.python(PID, |function| {
        function.scale.idle_ms = 100;
        function.scale.max = 4;
    });
    place.runtime.keep_warm(&app(), &[(function.clone(), 2)]);
    eventually("two are there", || place.status(&function).instances == 2).await;
    for process in processes_of(place.folder.path()) {
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(process.cast_signed()),
            nix::sys::signal::Signal::SIGKILL,
        );
    }
    eventually("they died", || place.status(&function).restarts >= 2).await;
    eventually("two are there again", || place.status(&function).instances == 2).await;
    place.stop().await;
}

#[tokio::test]
async fn recycles_an_instance_after_its_share_of_calls() {
    let place = Place::with(|settings| settings.recycle = 10).await;
    let function =
        place.python("import random\nWHO = str(random.random())\ndef main(request):\n    return WHO\n", |_| {});
    let mut who = std::collections::BTreeMap::new();
    for _ in 0..30 {
        *who.entry(place.call(&function, "r").await.expect("an answer").body).or_insert(0) += 1;
    }
    assert_eq!(who.into_values().collect::<Vec<_>>(), [10, 10, 10]);
    place.stop().await;
}

#[tokio::test]
async fn four_calls_run_on_one_instance_at_once() {
    let place = Place::new().await;
    let code = "
import threading
all_here = threading.Barrier(4, timeout=10)
def main(request):
    all_here.wait()
    return 'together'
";
    let function = place.python(code, |function| function.scale.concurrency = 4);
    let calls = (0..4).map(|_| place.call(&function, "r"));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer.expect("an answer").text(), "together");
    }
    assert_eq!(place.status(&function).instances, 1);
    place.stop().await;
}

#[tokio::test]
async fn calls_spread_over_instances_up_to_the_maximum() {
    let place = Place::new().await;
    let code =
        "import time, random\nWHO = str(random.random())\ndef main(request):\n    time.sleep(0.2)\n    return WHO\n";
    let function = place.python(code, |function| function.scale.max = 3);
    let calls = (0..9).map(|_| place.call(&function, "r"));
    let answers = futures::future::join_all(calls).await;
    let who: std::collections::BTreeSet<_> =
        answers.into_iter().map(|answer| answer.expect("an answer").body).collect();
    assert!((2..=3).contains(&who.len()), "{} instances answered", who.len());
    place.stop().await;
}

#[tokio::test]
async fn stopping_drains_calls_and_leaves_no_process() {
    let place = Arc::new(Place::with(|settings| settings.spares.python = 1).await);
    let function = place.python("import time\ndef main(request):\n    time.sleep(0.5)\n    return 'done'\n", |_| {});
    place.call(&function, "warm").await.expect("an answer");
    let running = tokio::spawn({
        let (place, function) = (place.clone(), function.clone());
        async move { place.call(&function, "r1").await.map(|answer| answer.text().to_owned()) }
    });
    eventually("it runs", || place.status(&function).busy == 1).await;
    place.runtime.stop(Duration::from_secs(10)).await;
    assert_eq!(running.await.expect("the task").expect("an answer"), "done");
    assert_eq!(processes_of(place.folder.path()), Vec::<u32>::new());
    let left: Vec<_> = std::fs::read_dir(place.folder.path().join("run")).expect("the folder").flatten().collect();
    assert_eq!(left.len(), 1, "only the lock is left: {left:?}");
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_call_past_its_deadline() {
    let place = Place::new().await;
    let function = place.python("import time\ndef main(request):\n    time.sleep(60)\n", |_| {});
    let started = Instant::now();
    let call = place.call(&function, "r1");
    let stop = async {
        eventually("it runs", || running(&place, &function)).await;
        place.runtime.stop(Duration::from_millis(200)).await;
    };
    let (outcome, ()) = tokio::join!(call, stop);
    let error = outcome.err().expect("it was ended");
    assert!(error.to_string().contains("the server is stopping"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(processes_of(place.folder.path()), Vec::<u32>::new());
}

fn running(place: &Place, function: &Function) -> bool {
    place.runtime.status(&app()).iter().any(|pool| pool.key == function.key && pool.busy == 1)
}
