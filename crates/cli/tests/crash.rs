//! Invariant 4: kills the server at random points of many deploys. After the restart either all of a
//! change is there or none of it, and the interrupted deploy can be repeated.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "crash/deploys.rs"]
mod deploys;
#[path = "crash/ledger.rs"]
mod ledger;

use std::time::{Duration, Instant};

use common::World;
use common::random::Random;
use deploys::Deploys;
use ledger::Ledger;
use milepost_client::ClientError;
use tokio::runtime::Runtime;

/// Kills the server in one of this many deploys.
const KILLS: u64 = 3;
const SEED: u64 = 20_260_102;

#[test]
fn slow_invariant_4_killed_deploys_are_whole_or_absent_on_sqlite() {
    survives_kills(World::on_machine_time(), 200);
}

#[test]
fn slow_invariant_4_killed_deploys_are_whole_or_absent_on_postgres() {
    let database = milepost_testkit::postgres::database();
    survives_kills(World::on_machine_time_with(&["--database", &database.url]), 100);
}

fn survives_kills(mut world: World, number_of_deploys: usize) {
    let runtime = Runtime::new().unwrap();
    let mut random = Random::new(SEED);
    let mut deploys = Deploys::new(&world.env, SEED);
    let mut ledger = Ledger::default();
    // The duration of a whole deploy on this machine. The kills are spread over it.
    let mut usual = Duration::from_millis(30);
    let (mut landed, mut lost) = (0, 0);
    for number in 0..number_of_deploys {
        let deploy = deploys.next();
        if number > 0 && random.below(KILLS) == 0 {
            let moment = usual.mul_f64(random.below(1000) as f64 / 800.0);
            let client = world.client();
            let sent = runtime.spawn({
                let deploy = deploy.clone();
                async move { deploy.send(&client).await }
            });
            runtime.block_on(async { tokio::time::sleep(moment).await });
            world.server.kill9();
            let answer = runtime.block_on(sent).unwrap();
            world.server.restart();
            let there = runtime.block_on(ledger.check_after_kill(&world.client(), &deploy));
            match answer {
                Ok(outcome) => assert!(there, "deploy {number} was answered as {outcome:?} and is lost"),
                Err(ClientError::Refused(problem)) => panic!("deploy {number} was refused: {problem:?}"),
                Err(_) => {}
            }
            *if there { &mut landed } else { &mut lost } += 1;
        }
        // The first attempt, or a repetition under the same key.
        let started = Instant::now();
        let outcome = runtime.block_on(deploy.send(&world.client())).unwrap();
        usual = (usual * 3 + started.elapsed()) / 4;
        ledger.record(&deploy, &outcome);
        runtime.block_on(ledger.check_head(&world.client()));
    }
    runtime.block_on(ledger.check_everything(&world.client()));
    println!("{landed} deploys had landed when the server was killed, {lost} had not");
    // Kills that always come too early or too late would prove nothing.
    assert!(landed >= 5 && lost >= 5, "{landed} deploys had landed when the server was killed, {lost} had not");
}
