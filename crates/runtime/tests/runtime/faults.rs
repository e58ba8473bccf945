//! Every way in which a function can misbehave. Each fails only its own request, with a clear error
//! that is logged under the request id.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use milepost_runtime::{CallError, Function};

use crate::harness::{Place, eventually, processes_of};

/// Does what the request's body says.
const MISCHIEF: &str = "
import os, signal, sys, time, threading
def main(request):
    what = request.get_data(as_text=True)
    if what == 'throw':
        raise ValueError('no such luck')
    if what == 'exit':
        sys.exit(3)
    if what == 'hard exit':
        os._exit(4)
    if what == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    if what == 'loop':
        while True:
            pass
    if what == 'sleep':
        time.sleep(60)
    if what == 'leak':
        hoard = []
        while True:
            hoard.append(bytearray(8 << 20))
    if what == 'fork':
        while True:
            try:
                if os.fork() == 0:
                    time.sleep(60)
            except OSError as error:
                return 'refused %d' % error.errno
    if what == 'malformed':
        return 'x', 200, {'bad': 'x'}
    return 'ok %d' % os.getpid()
";

async fn failure(place: &Place, function: &std::sync::Arc<Function>, what: &'static str) -> CallError {
    place.open(function, what, Bytes::from_static(what.as_bytes())).await.err().expect("a failure")
}

async fn pid(place: &Place, function: &std::sync::Arc<Function>) -> String {
    place.call(function, "pid").await.expect("an answer").text().to_owned()
}

#[tokio::test]
async fn an_exception_is_a_500_and_keeps_the_instance() {
    let place = Place::new().await;
    let function = place.python(MISCHIEF, |_| {});
    let before = pid(&place, &function).await;
    let error = failure(&place, &function, "throw").await;
    assert_eq!(error.status(), 500);
    assert!(error.to_string().contains("no such luck"), "{error}");
    assert_eq!(pid(&place, &function).await, before);
    let lines = place.lines_of("throw");
    assert!(lines.iter().any(|line| line.contains("the function threw")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("Traceback")), "{lines:?}");
    let recent = place.status(&function).recent_errors;
    assert_eq!((recent.len(), &*recent[0].request), (1, "throw"));
    place.stop().await;
}

#[tokio::test]
async fn a_5xx_response_counts_as_an_error() {
    let place = Place::new().await;
    let function = place.python("def main(request):\n    return 'sorry', int(request.get_data())\n", |_| {});
    for (status, errors) in [("200", 0), ("404", 0), ("500", 1), ("503", 2)] {
        place.open(&function, status, Bytes::from_static(status.as_bytes())).await.expect("an answer");
        let told = place.status(&function);
        assert_eq!((told.errors, told.recent_errors.len()), (errors, errors as usize), "{status}");
    }
    assert_eq!(place.lines_of("503"), ["the function answered with status 503"]);
    place.stop().await;
}

#[tokio::test]
async fn a_crash_fails_its_request_and_replaces_the_instance() {
    let place = Place::new().await;
    let function = place.python(MISCHIEF, |_| {});
    for (what, how) in [("exit", "exit code 3"), ("hard exit", "exit code 4"), ("kill", "killed by SIGKILL")] {
        let before = pid(&place, &function).await;
        let error = failure(&place, &function, what).await;
        assert_eq!(error.to_string(), format!("the function's process ended before it answered ({how})"));
        assert_eq!(error.status(), 502);
        assert_eq!(place.lines_of(what).last().expect("a line"), &error.to_string());
        let _ = (before, pid(&place, &function).await);
    }
    assert_eq!(place.status(&function).restarts, 3);
    place.stop().await;
}

#[tokio::test]
async fn distinguishes_a_throw_in_node_from_an_exit() {
    let place = Place::new().await;
    let code = "module.exports = async ({request}) => {
        const what = request.rawBody ?? request.body
        if (String(what).includes('exit')) process.exit(9)
        if (String(what).includes('throw')) throw new Error('no such luck')
        return {status: 200, body: 'ok'}
    }";
    let function = place.node(code, |_| {});
    let error = failure(&place, &function, "throw").await;
    assert!(
        matches!(&error, CallError::Threw(thrown) if thrown.text == "no such luck" && !thrown.exhausted),
        "{error}"
    );
    let error = failure(&place, &function, "exit").await;
    assert!(matches!(&error, CallError::Crashed { how } if how.how == "exit code 9" && !how.killed), "{error}");
    assert_eq!(place.call(&function, "r").await.expect("an answer").text(), "ok");
    place.stop().await;
}

#[tokio::test]
async fn an_endless_loop_is_a_504_and_does_not_slow_others() {
    let place = Place::new().await;
    let function = place.python(MISCHIEF, |function| {
        function.timeout = Duration::from_millis(800);
        function.cpu = 1000;
    });
    let other = place.python("def main(request):\n    return 'hello'\n", |_| {});
    pid(&place, &function).await;
    place.call(&other, "warm").await.expect("an answer");
    let loops = failure(&place, &function, "loop");
    let meanwhile = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..100 {
            let started = Instant::now();
            place.call(&other, "other").await.expect("an answer");
            slowest = slowest.max(started.elapsed());
        }
        slowest
    };
    let (error, slowest) = tokio::join!(loops, meanwhile);
    assert_eq!((error.status(), error.to_string()), (504, "the function did not answer within 0.8 s".to_owned()));
    assert!(slowest < Duration::from_millis(400), "another function waited for {slowest:?}");
    pid(&place, &function).await;
    assert_eq!(place.status(&function).restarts, 1);
    place.stop().await;
}

#[tokio::test]
async fn cuts_off_a_stalled_response_at_the_timeout() {
    let place = Place::new().await;
    let code = "
import time
from flask import Response
def main(request):
    def pieces():
        yield 'begun'
        time.sleep(60)
    return Response(pieces())
";
    let function = place.python(code, |function| function.timeout = Duration::from_millis(500));
    let answer = place.open(&function, "r1", "").await.expect("a head");
    let error = answer.into_body().collect().await.expect_err("a cut");
    assert_eq!(error.to_string(), "the function sent nothing more for 0.5 s");
    eventually("the instance is replaced", || place.status(&function).instances == 0).await;
    assert!(place.lines_of("r1").iter().any(|line| line.contains("sent nothing more")));
    place.stop().await;
}

#[tokio::test]
async fn a_hanging_call_does_not_disturb_others_on_its_instance() {
    let place = Place::new().await;
    let code = "
import time
def main(request):
    time.sleep(float(request.get_data()))
    return 'slept'
";
    let function = place.python(code, |function| {
        function.scale.concurrency = 2;
        function.timeout = Duration::from_secs(2);
    });
    let hangs = place.open(&function, "hangs", "60");
    let others = async {
        let mut answers = Vec::new();
        for seconds in ["1.2", "1.2", "0"] {
            let answer = place.open(&function, "other", seconds).await.expect("an answer");
            answers.push(answer.into_body().collect().await.expect("a body").to_bytes());
        }
        answers
    };
    let (error, answers) = tokio::join!(hangs, others);
    assert!(matches!(error, Err(CallError::TimedOut { .. })));
    assert_eq!(answers, ["slept", "slept", "slept"]);
    assert_eq!(place.status(&function).restarts, 1);
    place.stop().await;
}

#[tokio::test]
async fn reports_why_a_binary_cannot_run() {
    let place = Place::new().await;
    let kind = milepost_model::spec::Runtime::Binary;
    let function = place.function(kind, &[("main", b"this is no program")], |_| {});
    let error = place.call(&function, "r1").await.err().expect("a failure");
    assert!(error.to_string().contains("cannot run"), "{error}");
    let function = place.function(kind, &[("main", b"")], |function| function.entrypoint = "bin/server".to_owned());
    let error = place.call(&function, "r2").await.err().expect("a failure");
    assert!(error.to_string().contains("the package has no file `bin/server` to run"), "{error}");
    let function =
        place.function(kind, &[("server", b"#!/bin/sh\n")], |function| function.entrypoint = "server".to_owned());
    let file = place.folder.path().join("package-2/server");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).expect("close a file");
    let error = place.call(&function, "r3").await.err().expect("a failure");
    assert!(error.to_string().contains("`server` is not executable: run `chmod +x` on it"), "{error}");
    place.stop().await;
}

#[tokio::test]
async fn replaces_a_dead_spare_before_a_call_gets_it() {
    let place = Place::with(|settings| {
        settings.spares.python = 1;
        settings.spares.at_start = true;
    })
    .await;
    let function = place.python(MISCHIEF, |_| {});
    for _ in 0..2 {
        eventually("a spare is there", || !processes_of(place.folder.path()).is_empty()).await;
        kill_and_wait(processes_of(place.folder.path()));
    }
    pid(&place, &function).await;
    place.stop().await;
}

#[tokio::test]
async fn a_throw_in_the_middle_of_a_response_cuts_it_off() {
    let place = Place::new().await;
    let code = "
from flask import Response
def main(request):
    def pieces():
        yield 'begun'
        raise ValueError('no such luck')
    return Response(pieces())
";
    let function = place.python(code, |_| {});
    for _ in 0..2 {
        let answer = place.open(&function, "r1", "").await.expect("a head");
        let error = answer.into_body().collect().await.expect_err("a cut");
        assert!(error.to_string().contains("no such luck"), "{error}");
    }
    assert_eq!(place.status(&function).instances, 1, "the instance goes on");
    place.stop().await;
}

#[tokio::test]
async fn reports_why_code_cannot_be_loaded() {
    let place = Place::new().await;
    let function = place.python("import no_such_module\n", |_| {});
    let error = place.call(&function, "r1").await.err().expect("a failure");
    assert_eq!(error.status(), 503);
    assert!(error.to_string().contains("no_such_module"), "{error}");
    assert!(place.lines_of("r1").iter().any(|line| line.contains("no_such_module")), "{:?}", place.lines());
    assert!(place.lines().iter().any(|line| line.text.contains("Traceback")), "{:?}", place.lines());
    place.stop().await;
}

#[tokio::test]
async fn gives_up_on_an_instance_that_never_becomes_ready() {
    // As configured by the server: a call waits no longer than a start may take.
    let place = Place::with(|settings| {
        settings.start = Duration::from_secs(3);
        settings.wait = Duration::from_secs(3);
    })
    .await;
    let function = place.python("import time\ntime.sleep(60)\n", |function| function.scale.max = 2);
    let calls = ["r1", "r2", "r3"].map(|request| place.call(&function, request));
    for (outcome, request) in futures::future::join_all(calls).await.into_iter().zip(["r1", "r2", "r3"]) {
        let error = outcome.err().expect("a failure");
        assert_eq!((error.status(), error.code()), (503, "function_not_ready"), "{error}");
        assert!(error.to_string().contains("was not ready within 3 s"), "{error}");
        let told = place.lines_of(request);
        assert!(told.iter().any(|line| line.contains("was not ready within 3 s")), "{request}: {told:?}");
    }
    eventually("its process is gone", || processes_of(place.folder.path()).is_empty()).await;
    place.stop().await;
}

#[tokio::test]
async fn refuses_calls_over_the_queue_limit_with_503() {
    let place = Place::with(|settings| settings.queue_per_place = 2).await;
    let function = place.python(MISCHIEF, |function| function.timeout = Duration::from_secs(1));
    pid(&place, &function).await;
    let calls = (0..6).map(|_| failure_or_not(&place, &function));
    let outcomes = futures::future::join_all(calls).await;
    let refused: Vec<_> = outcomes.iter().flatten().filter(|error| matches!(error, CallError::Busy { .. })).collect();
    assert_eq!(refused.len(), 3, "one runs, two wait: {outcomes:?}");
    assert!(refused.iter().all(|error| error.status() == 503));
    place.stop().await;
}

async fn failure_or_not(place: &Place, function: &std::sync::Arc<Function>) -> Option<CallError> {
    place.open(function, "sleep", Bytes::from_static(b"sleep")).await.err()
}

#[tokio::test]
async fn reports_a_function_that_exceeds_its_memory() {
    let place = Place::new().await;
    let function = place.python(MISCHIEF, |function| function.memory = 96 << 20);
    let error = failure(&place, &function, "leak").await;
    // If the kernel refuses the memory, Python raises. If the kernel or the sampler kills, the
    // process ends.
    let said = error.to_string();
    assert!(said.contains("96 MiB of memory") || said.contains("MemoryError"), "{said}");
    pid(&place, &function).await;
    place.stop().await;
}

#[tokio::test]
async fn a_fork_bomb_stays_in_its_sandbox() {
    let place = Place::new().await;
    let function = place.python(MISCHIEF, |_| {});
    let other = place.python("def main(request):\n    return 'hello'\n", |_| {});
    // Whichever limit is reached first: processes or memory.
    match place.open(&function, "fork", "fork").await {
        Ok(answer) => {
            let text = answer.into_body().collect().await.expect("a body").to_bytes();
            assert!(text.starts_with(b"refused"), "{text:?}");
        }
        Err(error) => assert!(error.to_string().contains("256 MiB of memory"), "{error}"),
    }
    place.call(&other, "r").await.expect("others can still start");
    place.stop().await;
}

#[tokio::test]
async fn a_worker_death_between_calls_fails_no_call() {
    let place = Place::new().await;
    let function = place.python(MISCHIEF, |_| {});
    for _ in 0..5 {
        pid(&place, &function).await;
        // No await in between: the pool cannot have noticed when the next call takes the dead slot.
        kill_and_wait(processes_of(place.folder.path()));
        pid(&place, &function).await;
    }
    assert_eq!(place.status(&function).recent_errors.len(), 0);
    place.stop().await;
}

fn kill_and_wait(processes: Vec<u32>) {
    for process in &processes {
        let pid = nix::unistd::Pid::from_raw(process.cast_signed());
        // May have ended already, along with another one.
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    let started = Instant::now();
    // The process closes its descriptors before it becomes a zombie, but possibly after its command
    // line is gone.
    let closed = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().is_empty() || rest.starts_with(" Z"))
    };
    while !processes.iter().all(closed) {
        assert!(started.elapsed() < Duration::from_secs(10), "processes that were killed live on");
        std::thread::yield_now();
    }
}
