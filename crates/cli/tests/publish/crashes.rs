use std::process::Stdio;
use std::time::{Duration, Instant};

use milepost_testkit::s3::S3Server;

use crate::author::{Author, text};
use crate::common::World;
use crate::common::random::Random;

const KILLS: usize = 25;
const SEED: u64 = 20_261_116;

#[test]
fn slow_a_publisher_that_is_killed_leaves_a_bucket_that_can_be_read_and_continued() {
    let server = S3Server::start();
    let mut author = Author::of(World::on_machine_time());
    for (name, value) in server.variables() {
        author.world.env.set(name, &value);
    }
    author.ok("channel key");
    let key = text(&author.json("channel key")["publicKey"]);
    let to = format!("s3://{}/channels", S3Server::BUCKET);
    let started = Instant::now();
    author.ok(&format!("publish --to {to}"));
    // The time at which half of the publishes have landed. It is adjusted on the way, because the
    // first publish is slower than the rest.
    let (mut middle, mut random) = (started.elapsed(), Random::new(SEED));
    let (mut landed, mut lost) = (0, 0);
    for number in 1..=KILLS {
        let version = format!("1.0.{number}");
        author.manifest(&version, &version);
        author.deploy();
        let moment = middle.mul_f64(0.6 + random.below(1000) as f64 / 1250.0);
        kill_after(&author, &["publish", "--to", &to], moment);
        // Readers without the key can read the channel at any time, and everything it lists exists.
        let shown = author.json(&format!("channel show --to {to}"));
        let count = shown["versions"].as_array().unwrap().len();
        assert!(count == number || count == number + 1, "after {moment:?}: {shown:#}");
        let (counted, next) = if count == number { (&mut lost, 1.2) } else { (&mut landed, 0.8) };
        *counted += 1;
        middle = middle.mul_f64(next);
        author.ok(&format!("bundle --to {to} --file read.bundle"));
        let again = author.run(&format!("publish --to {to}"));
        assert!(again.succeeded() || again.stderr.contains("is already in `stable`"), "{}", again.stderr);
        // After the repetition it is complete: signed, and `latest` agrees with the list.
        let shown = author.json(&format!("channel show --to {to} --key {key}"));
        let versions = shown["versions"].as_array().unwrap();
        assert_eq!((versions.len(), &shown["settled"]), (number + 1, &true.into()), "after {moment:?}: {shown:#}");
        assert_eq!(text(&shown["latest"]["version"]), version);
    }
    author.ok(&format!("bundle --to {to} --key {key} --file all.bundle"));
    // Kills that always come too early or too late would prove nothing.
    assert!(landed >= 3 && lost >= 3, "{landed} publishes had landed when they were killed, {lost} had not");
}

fn kill_after(author: &Author, args: &[&str], moment: Duration) {
    let mut command = author.world.env.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(moment);
    // It may have ended already.
    let _ = child.kill();
    child.wait().unwrap();
}
