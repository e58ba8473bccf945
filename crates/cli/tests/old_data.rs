//! Data that an earlier Milepost wrote is opened, reads the same, and goes on from there.
//!
//! `old_data/make.sh` made it with the program of commit 495a498 (schema 10): rows of every table, and
//! the answers of its API.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::World;
use milepost_testkit::cli::CliEnv;
use serde_json::Value;

/// The server that made the data, as its answers name it.
const OLD: [&str; 2] = ["127.0.0.1:7611", "localhost:8611"];

fn folder(engine: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_data").join(engine)
}

/// Starts a server on a copy of the data.
fn open(engine: &str, args: &[&str]) -> World {
    let mut env = CliEnv::new();
    // When the data was made: retention takes nothing away, and no timer is due.
    let now = std::fs::read_to_string(folder(engine).join("now.txt")).unwrap();
    env.set("MILEPOST_TEST_CLOCK", now.trim());
    // The seed of no other run: ids that the data has are not given again.
    env.set("MILEPOST_TEST_SEED", "495498");
    std::fs::create_dir(env.data_dir()).unwrap();
    let unpacked = Command::new("tar")
        .args(["--no-same-owner", "-C"])
        .arg(env.data_dir())
        .arg("-xzf")
        .arg(folder(engine).join("data.tar.gz"))
        .status();
    assert!(unpacked.unwrap().success(), "the data is unpacked");
    // Nothing looks at the channel of the installed app: its server is gone.
    let mut all = vec!["--no-sandbox", "--installs", "0"];
    all.extend(args);
    World::in_env(env, &all)
}

struct Reader<'w> {
    world: &'w World,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    token: String,
}

impl<'w> Reader<'w> {
    fn new(world: &'w World) -> Self {
        let token = std::fs::read_to_string(world.env.data_dir().join("admin.token")).unwrap().trim().to_owned();
        // Our own client brings the cryptography along that reqwest insists on.
        world.client();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        Self { world, http: reqwest::Client::new(), runtime, token }
    }

    fn get(&self, url: &str, host: Option<&str>) -> (u16, String) {
        let mut request = self.http.get(url).bearer_auth(&self.token);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        self.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        })
    }

    /// An answer without what differs between servers: their ports.
    fn plain(&self, text: &str) -> Value {
        let own = [self.world.server.api(), self.world.server.gateway()];
        let own = own.map(|url| url.trim_start_matches("http://").trim_end_matches('/'));
        let text = OLD.iter().chain(&own).fold(text.to_owned(), |text, address| text.replace(address, "SERVER"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What the app serves at a path.
    fn visit(&self, app: &str, path: &str) -> (u16, String) {
        let gateway = self.world.server.gateway().trim_end_matches('/').replace("localhost", "127.0.0.1");
        self.get(&format!("{gateway}{path}"), Some(&format!("{app}.localhost")))
    }
}

/// Collects where `now` lacks something of `then`. New fields may have come since.
fn compare(path: &str, then: &Value, now: &Value, differences: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            for (key, then) in then {
                compare(&format!("{path}.{key}"), then, now.get(key).unwrap_or(&Value::Null), differences);
            }
        }
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            for (at, (then, now)) in then.iter().zip(now).enumerate() {
                compare(&format!("{path}[{at}]"), then, now, differences);
            }
        }
        (then, now) if then == now => {}
        (then, now) => differences.push(format!("{path}: {then} was, {now} is")),
    }
}

fn reads_the_same(reader: &Reader<'_>, engine: &str) {
    let answers = Command::new("gzip").arg("-dc").arg(folder(engine).join("answers.json.gz")).output().unwrap();
    let answers: BTreeMap<String, Value> = serde_json::from_slice(&answers.stdout).unwrap();
    assert!(answers.len() > 100, "the answers of all lists and units");
    let mut differences = Vec::new();
    for (path, then) in &answers {
        let (status, now) = reader.get(&format!("{}{path}", reader.world.server.api()), None);
        assert_eq!(status, 200, "{path}: {now}");
        compare(path, &reader.plain(&then.to_string()), &reader.plain(&now), &mut differences);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The files, the sealed secret and the runtime of what is live.
fn serves_the_same(reader: &Reader<'_>) {
    assert_eq!(reader.visit("shop", "/index.html"), (200, "<h1>shop</h1>\n".to_owned()));
    assert_eq!(reader.visit("shop", "/large.txt"), (200, "x".repeat(70_000)));
    for (app, says, secret) in [("shop", "four", "s3cret-value"), ("lib2", "five", "other")] {
        let (status, said) = reader.visit(app, "/hello");
        assert_eq!(status, 200, "{said}");
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["says"], &said["key"]), (&says.into(), &secret.into()), "{app}");
    }
}

fn goes_on(reader: &Reader<'_>) {
    let world = reader.world;
    let newest = |world: &World| {
        let versions = world.json("function version list --name hello --app shop");
        versions[0]["number"].as_i64().unwrap()
    };
    let before = newest(world);
    world.env.write_file("hello.py", "def main(**rest):\n    return 'five'\n");
    world.ok("function version update --name hello --code hello.py --entrypoint hello.main --app shop --on live");
    assert_eq!(newest(world), before + 1, "numbers go on");
    assert_eq!(reader.visit("shop", "/hello").1.trim_matches('"'), "five");
    world.ok("rollback --app shop --yes");
    assert!(reader.visit("shop", "/hello").1.contains("four"), "the old release serves again");
    let run = world.json("execution create hello --app shop --version v1 --input '{\"n\": 2}'");
    assert_eq!(run["status"], "success", "{run}");
    world.ok("job resume twice --app shop");
    world.env.run_with_input(&["secret", "set", "KEY", "--app", "shop"], "another").success();
    world.ok("storage sweep");
    world.ok("app delete lib2 --yes");
}

fn check(engine: &str, args: &[&str]) {
    let world = open(engine, args);
    let reader = Reader::new(&world);
    reads_the_same(&reader, engine);
    serves_the_same(&reader);
    goes_on(&reader);
}

#[test]
fn data_of_an_earlier_milepost_reads_the_same_and_goes_on() {
    check("sqlite", &[]);
}

mod postgres {
    use super::*;

    #[test]
    fn data_of_an_earlier_milepost_reads_the_same_and_goes_on() {
        let database = milepost_testkit::postgres::database();
        database.run(&std::fs::read_to_string(folder("postgres").join("dump.sql")).unwrap());
        check("postgres", &["--database", &database.url]);
    }
}
