//! How builds end, what they print until then, and that nothing of them is left.

use std::time::{Duration, Instant};

use milepost_model::spec::Runtime as Kind;
use tokio::sync::mpsc;

use crate::ground::{Ground, eventually, mark, order, processes_with};

#[tokio::test]
async fn reports_the_exit_code() {
    let ground = Ground::new().await;
    let built = ground.build(&[], "echo before; exit 2").await;
    assert_eq!(built.reason(), "the command ended with exit code 2");
    assert_eq!(built.lines, ["before"]);
    assert_eq!(ground.build(&[], "exit 125").await.reason(), "the command ended with exit code 125");
    assert_eq!(
        ground.build(&[], "kill -9 $$").await.reason(),
        "the command was killed by SIGKILL; see the end of its log"
    );
}

#[tokio::test]
async fn stops_a_hanging_build_and_keeps_its_output() {
    let ground = Ground::new().await;
    let mark = mark("hang", ground.folder.path());
    let mut order = order(Kind::Binary, &format!("echo started; sh -c 'sleep 60; : {mark}' & sleep 60; : {mark}"));
    order.limit = Duration::from_millis(500);
    let started = Instant::now();
    let built = ground.build_order(&[], order).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(
        built.reason(),
        "the build was stopped because it took longer than 500 milliseconds; make it do less, or start the server with a \
         longer `--build-timeout`"
    );
    assert_eq!(built.lines, ["started"]);
    assert_eq!(processes_with(&mark), 0);
}

#[tokio::test]
async fn streams_both_outputs_in_order() {
    let ground = Ground::new().await;
    let room = ground.room(&[]).await;
    let (sender, mut lines) = mpsc::channel(1);
    let command = "echo one; echo two >&2; echo three; while ! test -e go; do sleep 0.02; done; printf four >&2; touch $DEPLOY_PKG";
    let build = ground.runtime.build(&room, order(Kind::Binary, command), sender);
    let read = async {
        let mut first = Vec::new();
        for _ in 0..3 {
            first.extend(lines.recv().await);
        }
        // The command waits for this file, so the lines arrived while it was running.
        std::fs::write(room.source().join("go"), "").expect("let it go on");
        (first, lines.recv().await, lines.recv().await)
    };
    let (outcome, (first, last, end)) = tokio::join!(build, read);
    outcome.expect("a result");
    assert_eq!(first, ["one", "two", "three"]);
    assert_eq!((last.as_deref(), end), (Some("four"), None));
}

#[tokio::test]
async fn bounds_a_flood_of_output_and_keeps_its_end() {
    let ground = Ground::new().await;
    let command =
        "head -c 100000 /dev/zero | tr '\\0' x; echo; yes 0123456789 | head -c 30000000; echo; echo last; exit 1";
    let built = ground.build(&[], command).await;
    assert_eq!(built.reason(), "the command ended with exit code 1");
    assert!(built.lines[0].ends_with("x… 91808 bytes left out"), "{}", &built.lines[0][8100..]);
    assert!(built.lines.iter().map(String::len).sum::<usize>() < 11 << 20);
    assert!(built.lines.iter().any(|line| line.ends_with("bytes left out: a log has at most 10 MiB")));
    assert_eq!(built.lines.last().map(String::as_str), Some("last"));
}

#[tokio::test]
async fn dropping_the_future_leaves_no_process_and_no_folder() {
    for sandbox in [true, false] {
        let ground = Ground::with(|settings| settings.sandbox = sandbox).await;
        let mark = mark(&format!("drop-{sandbox}"), ground.folder.path());
        let room = ground.room(&[]).await;
        let (sender, mut lines) = mpsc::channel(1);
        // Creates files as long as it lives, even after the drop.
        let command =
            format!("setsid sh -c 'while :; do mkdir -p $SRC_PKG/{mark}/$$; done' & echo running; sleep 60; : {mark}");
        let build = ground.runtime.build(&room, order(Kind::Binary, &command), sender);
        tokio::select! {
            outcome = build => panic!("it ended: {outcome:?}"),
            line = lines.recv() => assert_eq!(line.as_deref(), Some("running")),
        }
        assert_eq!(ground.rooms(), 1);
        drop(room);
        eventually("no process is left", || processes_with(&mark) == 0).await;
        eventually("no folder is left", || ground.rooms() == 0).await;
    }
}

#[tokio::test]
async fn stopping_the_runtime_ends_its_builds() {
    let ground = Ground::new().await;
    let room = ground.room(&[]).await;
    let (sender, mut lines) = mpsc::channel(1);
    let build = ground.runtime.build(&room, order(Kind::Binary, "echo running; sleep 60"), sender);
    let stop = async {
        lines.recv().await;
        ground.runtime.stop(Duration::from_secs(5)).await;
    };
    let (outcome, ()) = tokio::join!(build, stop);
    assert_eq!(outcome.expect_err("no result").to_string(), "the server is stopping");
    assert_eq!(ground.rooms(), 0);
}

#[tokio::test]
async fn enforces_the_limits_of_a_build() {
    let ground = Ground::new().await;
    let most = "python3 -c 'x = bytearray(3 << 30)' && touch $DEPLOY_PKG";
    let built = ground.build_order(&[], order(Kind::Python, most)).await;
    assert!(built.outcome.is_err(), "{:?}", built.lines);
    let file = "python3 -c \"open('big', 'wb').truncate((2 << 30) + 1)\"";
    let built = ground.build_order(&[], order(Kind::Python, file)).await;
    assert!(built.lines.last().is_some_and(|line| line.contains("File too large")), "{:?}", built.lines);
    let many = "i=0; while [ $i -lt 600 ]; do sleep 5 & i=$((i+1)); done; touch $DEPLOY_PKG";
    let built = ground.build(&[], many).await;
    assert!(built.outcome.is_err(), "600 processes could be started");
}
