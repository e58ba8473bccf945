use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use milepost_client::api::SetLive;

use crate::stage::{Answer, Stage, TWO_KINDS, change_everything, get};

const MOVES: usize = 1000;

/// Invariant 6, and no mix: every answer is whole, of one release, and of one that was live while it was asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_a_thousand_moves_of_live_fail_no_request_and_mix_none() {
    let stage = Stage::new("shop", &[], TWO_KINDS);
    let one = stage.deploy();
    change_everything(&stage);
    let two = stage.deploy();
    let client = stage.world.client();
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicU64::new(0));
    let mut loads = Vec::new();
    for path in ["/", "/site/x.txt", "/"] {
        let (stop, asked, http, url) = (stop.clone(), asked.clone(), stage.client.clone(), stage.url(path));
        let (one, two) = (one.clone(), two.clone());
        loads.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let answer = get(&http, &url, "shop").await.unwrap_or_else(|error| panic!("{url}: {error:?}"));
                check_whole(&answer, &one, &two);
                asked.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let mut delays = Vec::with_capacity(MOVES);
    for at in 0..MOVES {
        let target = if at % 2 == 0 { &one } else { &two };
        let to = SetLive { release: Some(target.clone()), follow: false, why: "back and forth".to_owned() };
        client.live_set("shop", &to).await.unwrap();
        let moved = Instant::now();
        // Whoever has the answer of the move sees it with the next request.
        let answer = stage.get(if at % 3 == 0 { "/" } else { "/site/x.txt" }).await;
        delays.push(moved.elapsed());
        assert_eq!(&answer.release, target, "move {at}");
    }
    stop.store(true, Ordering::Relaxed);
    for load in loads {
        load.await.unwrap();
    }
    delays.sort_unstable();
    let (p50, most) = (delays[MOVES / 2], delays[MOVES - 1]);
    println!(
        "{} requests beside {MOVES} moves; first new answer after {p50:?} (median), {most:?} at most",
        asked.load(Ordering::Relaxed)
    );
    assert!(most < Duration::from_secs(30), "a move was seen only after {most:?}");
}

fn check_whole(answer: &Answer, one: &str, two: &str) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let of_one = answer.release == one && (answer.body == "one one" || answer.body == "one");
    let of_two = answer.release == two && (answer.body == "two two" || answer.body == "two");
    assert!(of_one || of_two, "a mix: {answer:?}");
}

/// A rollback goes to instances that are warm: the worker that answers is the one from before.
#[tokio::test]
async fn rolling_back_is_not_a_cold_start() {
    let files = [
        (
            "milepost.yaml",
            "app: shop\nfunctions:\n  f: { env: python, src: f/, scale: { idle: 30s } }\nroutes:\n  - GET /: f\n",
        ),
        ("f/main.py", "import os\n\nBORN = os.urandom(8).hex()\n\ndef main():\n    return BORN\n"),
    ];
    let stage = Stage::new("shop", &[], &files);
    stage.deploy();
    let born = stage.get("/").await.body;
    stage.world.env.write_file("f/main.py", "def main():\n    return 'new'\n");
    stage.deploy();
    assert_eq!(stage.get("/").await.body, "new");
    stage.world.ok("rollback --yes");
    assert_eq!(stage.get("/").await.body, born);
}
