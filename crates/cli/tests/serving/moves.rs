use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use milepost_client::api::SetLive;
use milepost_testkit::eventually_blocking;

use crate::stage::{Answer, Stage, TWO_KINDS, change_everything, get};

const MOVES: usize = 1000;

/// Invariant 6: every response comes completely from one release, which was live at some moment of
/// the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_invariant_6_a_thousand_moves_of_live_fail_no_request_and_mix_none() {
    let stage = Stage::new("shop", &[], TWO_KINDS);
    let one = stage.deploy();
    change_everything(&stage);
    let two = stage.deploy();
    let client = stage.world.client();
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicU64::new(0));
    let mut timeline = Timeline::new(&two);
    let mut loads = Vec::new();
    for path in ["/", "/site/x.txt", "/"] {
        let (stop, asked, http, url) = (stop.clone(), asked.clone(), stage.client.clone(), stage.url(path));
        let (one, two) = (one.clone(), two.clone());
        loads.push(tokio::spawn(async move {
            let mut seen = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let answer = get(&http, &url, "shop").await.unwrap_or_else(|error| panic!("{url}: {error:?}"));
                check_whole(&answer, &one, &two);
                seen.push((answer.release, begun, Instant::now()));
                asked.fetch_add(1, Ordering::Relaxed);
            }
            seen
        }));
    }
    let mut delays = Vec::with_capacity(MOVES);
    for at in 0..MOVES {
        let target = if at % 2 == 0 { &one } else { &two };
        let to =
            SetLive { release: Some(target.clone()), follow: false, force: false, why: "back and forth".to_owned() };
        timeline.move_begins(target);
        client.live_set("shop", &to).await.unwrap();
        timeline.move_is_answered();
        let moved = Instant::now();
        // A request sent after the response of the move gets the new release.
        let path = if at % 3 == 0 { "/" } else { "/site/x.txt" };
        let answer = stage.get(path).await;
        delays.push(moved.elapsed());
        assert_eq!(&answer.release, target, "move {at}");
        if at % 10 == 0 {
            // Leaves time for requests between two moves, which only one release can answer.
            let before = asked.load(Ordering::Relaxed);
            while asked.load(Ordering::Relaxed) < before + 6 && loads.iter().all(|load| !load.is_finished()) {
                assert_eq!(&stage.get(path).await.release, target, "after move {at}");
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    let (mut answers, mut decided) = (0, 0);
    for load in loads {
        for (release, begun, ended) in load.await.unwrap() {
            let live = timeline.live_between(begun, ended);
            assert!(live.contains(&release.as_str()), "{release} answered while only {live:?} was live");
            answers += 1;
            decided += usize::from(live.len() == 1);
        }
    }
    assert!(decided >= MOVES / 10, "only {decided} of {answers} requests fell between two moves");
    delays.sort_unstable();
    let (p50, most) = (delays[MOVES / 2], delays[MOVES - 1]);
    println!(
        "{answers} requests beside {MOVES} moves, {decided} between two; first new answer after {p50:?} (median), {most:?} at most"
    );
    assert!(most < Duration::from_secs(30), "a move was seen only after {most:?}");
}

/// When each release was live, as seen from outside: from the request that moved live to it until
/// the response of the next move.
struct Timeline(Vec<Span>);

struct Span {
    release: String,
    from: Instant,
    until: Option<Instant>,
}

impl Timeline {
    fn new(live: &str) -> Self {
        Self(vec![Span { release: live.to_owned(), from: Instant::now(), until: None }])
    }

    fn move_begins(&mut self, to: &str) {
        self.0.push(Span { release: to.to_owned(), from: Instant::now(), until: None });
    }

    fn move_is_answered(&mut self) {
        let before = self.0.len() - 2;
        self.0[before].until = Some(Instant::now());
    }

    /// Every release that was live at some moment of the interval.
    fn live_between(&self, begun: Instant, ended: Instant) -> Vec<&str> {
        let first = self.0.partition_point(|span| span.until.is_some_and(|until| until < begun));
        let mut live: Vec<&str> =
            self.0[first..].iter().take_while(|span| span.from <= ended).map(|span| span.release.as_str()).collect();
        live.sort_unstable();
        live.dedup();
        live
    }
}

fn check_whole(answer: &Answer, one: &str, two: &str) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let of_one = answer.release == one && (answer.body == "one one" || answer.body == "one");
    let of_two = answer.release == two && (answer.body == "two two" || answer.body == "two");
    assert!(of_one || of_two, "a mix: {answer:?}");
}

#[tokio::test]
async fn rolling_back_is_not_a_cold_start() {
    roll_back_to_a_warm_instance(false).await;
}

#[tokio::test]
async fn rolling_back_to_what_a_tag_points_at_is_not_a_cold_start() {
    roll_back_to_a_warm_instance(true).await;
}

/// A rollback is answered by the warm worker of the older release.
async fn roll_back_to_a_warm_instance(tagged: bool) {
    let files = [
        (
            "milepost.yaml",
            "app: shop\nfunctions:\n  f: { env: python, src: f/, scale: { min: 0, idle: 5s } }\nroutes:\n  - GET /: f\n",
        ),
        ("f/main.py", "import os\n\nBORN = os.urandom(8).hex()\n\ndef main():\n    return BORN\n"),
    ];
    let stage = Stage::new("shop", &[], &files);
    stage.deploy();
    if tagged {
        stage.world.ok("release tag latest good");
    }
    let born = stage.get("/").await.body;
    stage.world.env.write_file("f/main.py", "def main():\n    return 'new'\n");
    stage.deploy();
    assert_eq!(stage.get("/").await.body, "new");
    // The newer instance has become idle and stopped. The older one would have stopped earlier, but
    // is kept for a rollback.
    eventually_blocking(Duration::from_secs(60), || instances(&stage) == 1);
    stage.world.ok("rollback --yes");
    assert_eq!(stage.get("/").await.body, born);
}

/// The number of instances of all versions.
fn instances(stage: &Stage) -> u64 {
    let status = stage.world.json("status");
    status["functions"].as_array().unwrap().iter().map(|function| function["instances"].as_u64().unwrap()).sum()
}
