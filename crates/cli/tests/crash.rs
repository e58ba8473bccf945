//! The server killed at random points of 200 deploys (DESIGN, invariant 4): it comes back with all of a change or none of
//! it, and the deploy that was cut off can simply be repeated.
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

const DEPLOYS: usize = 200;
/// One deploy in so many is cut off.
const KILLS: u64 = 3;
const SEED: u64 = 20_260_102;

#[test]
fn slow_deploys_are_whole_or_not_there_whenever_the_server_is_killed() {
    let runtime = Runtime::new().unwrap();
    let mut world = World::on_machine_time();
    let mut random = Random::new(SEED);
    let mut deploys = Deploys::new(&world.env, SEED);
    let mut ledger = Ledger::default();
    // How long a whole deploy takes here: the moments of the kills are spread over it.
    let mut usual = Duration::from_millis(30);
    let (mut landed, mut lost) = (0, 0);
    for number in 0..DEPLOYS {
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
        // The first time, or once more under the same key.
        let started = Instant::now();
        let outcome = runtime.block_on(deploy.send(&world.client())).unwrap();
        usual = (usual * 3 + started.elapsed()) / 4;
        ledger.record(&deploy, &outcome);
        runtime.block_on(ledger.check_head(&world.client()));
    }
    runtime.block_on(ledger.check_everything(&world.client()));
    println!("{landed} deploys had landed when the server was killed, {lost} had not");
    // Kills that always come too early or too late would show nothing.
    assert!(landed >= 5 && lost >= 5, "{landed} deploys had landed when the server was killed, {lost} had not");
}
