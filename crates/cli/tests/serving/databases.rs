use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lock::Locked;
use milepost_testkit::eventually_blocking;
use milepost_testkit::postgres::Cluster;

use crate::stage::{Stage, TWO_KINDS, change_everything};

/// Locks the SQLite file from another process. Every machine with Python has the program.
mod lock {
    use std::io::{BufRead, BufReader, Write};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    pub struct Locked(Child);

    impl Locked {
        pub fn hold(file: &Path) -> Self {
            let program = "import sqlite3, sys\n\
                           c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                           c.execute('BEGIN EXCLUSIVE')\n\
                           print('held', flush=True)\n\
                           sys.stdin.readline()\n";
            let mut child = Command::new("python3")
                .args(["-c", program])
                .arg(file)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line.trim(), "held");
            Self(child)
        }

        pub fn let_go(mut self) {
            self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
            self.0.wait().unwrap();
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the node has recorded where the files of the cold function are. It does so after the
/// deploy's response.
fn is_noted(stage: &Stage) -> bool {
    let notes = stage.world.env.data_dir().join("cache/packages/notes");
    let names_it =
        |note: std::fs::DirEntry| std::fs::read_to_string(note.path()).is_ok_and(|note| note.contains("frozen.py"));
    std::fs::read_dir(notes).unwrap().flatten().any(names_it)
}

/// The usual app, and a function without any call before the database fails. Unchecked, because a
/// check would load it.
fn stage_with_a_cold_function(args: &[&str]) -> Stage {
    let manifest = TWO_KINDS[0].1.replace("functions:\n", "functions:\n  cold: { env: python, src: cold/ }\n");
    let manifest = manifest.replace("routes:\n", "routes:\n  - GET /cold: cold\n");
    let mut files = vec![("milepost.yaml", manifest.as_str()), TWO_KINDS[1], TWO_KINDS[2]];
    files.push(("cold/main.py", "from words import frozen\n\ndef main():\n    return frozen.WORD\n"));
    files.push(("cold/words/frozen.py", "WORD = 'cold'\n"));
    let stage = Stage::new("shop", args, &files);
    stage.world.ok("deploy --no-check");
    eventually_blocking(PATIENCE, || is_noted(&stage));
    stage
}

/// Warm and cold functions are still served, and changes are refused with the reason.
async fn goes_on_without_changes(stage: &Stage) {
    let cold = stage.get("/cold").await;
    assert_eq!((cold.status, cold.body.as_str()), (200, "cold"), "{}", cold.body);
    for _ in 0..20 {
        assert_eq!(stage.get("/").await.body, "one one");
        assert_eq!(stage.get("/site/x.txt").await.body, "one");
    }
    change_everything(stage);
    let refused = stage.world.run("deploy");
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("database"), "{}", refused.stderr);
    assert_eq!(stage.get("/").await.body, "one one");
}

/// The doctor blames the database, and not the token or the ports that the server itself uses.
fn doctor_names_the_database(stage: &Stage) {
    let told = stage.world.run("doctor -o json");
    let checks: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let bad: Vec<_> = checks.as_array().into_iter().flatten().filter(|check| check["state"] == "bad").collect();
    assert_eq!(bad.len(), 1, "{checks}");
    assert_eq!(bad[0]["name"], "database", "{checks}");
    assert!(bad[0]["fix"].as_str().is_some_and(|fix| fix.contains("start the database")), "{checks}");
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_goes_on_while_postgresql_is_away() {
    let mut cluster = tokio::task::spawn_blocking(|| Cluster::start_private(true)).await.unwrap();
    let database = cluster.database();
    let stage = stage_with_a_cold_function(&["--database", &database.url]);
    assert_eq!(stage.get("/").await.body, "one one");
    cluster.kill9();
    goes_on_without_changes(&stage).await;
    doctor_names_the_database(&stage);
    cluster.restart();
    // Stale connections of the pool are discarded one by one.
    let deadline = Instant::now() + Duration::from_secs(60);
    let release = loop {
        let again = stage.world.run("deploy -o json");
        if again.status == Some(0) {
            let outcome: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
            break outcome["release"]["id"].as_str().unwrap_or_default().to_owned();
        }
        assert!(Instant::now() < deadline, "{}", again.stderr);
    };
    let answer = stage.get("/").await;
    assert_eq!((answer.body.as_str(), &answer.release), ("two two", &release));
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_goes_on_while_the_sqlite_file_is_locked() {
    let stage = stage_with_a_cold_function(&[]);
    let locked = Locked::hold(&stage.world.env.data_dir().join("catalog.db"));
    goes_on_without_changes(&stage).await;
    locked.let_go();
    stage.deploy();
    assert_eq!(stage.get("/").await.body, "two two");
}

/// Changes the SQLite file of a stopped server.
fn alter(file: &Path, statement: &str) {
    let program = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute(sys.argv[2])\nc.commit()\n";
    let altered = Command::new("python3").args(["-c", program]).arg(file).arg(statement).status().unwrap();
    assert!(altered.success());
}

#[test]
fn an_app_that_cannot_be_read_keeps_no_other_from_being_served() {
    let mut stage = Stage::new("shop", &[], TWO_KINDS);
    stage.world.env.write_file("f/main.py", "print('awake')\n\ndef main():\n    return 'one'\n");
    stage.deploy();
    let awake = |stage: &Stage| stage.world.ok("logs --function f").matches("awake").count();
    eventually_blocking(PATIENCE, || awake(&stage) == 1);
    stage.world.ok("app create damaged");
    // Apps with the most events are refreshed first.
    for number in 0..20 {
        stage.world.ok(&format!("config set --app damaged a={number}"));
    }
    stage.world.server.stop();
    let damage = "UPDATE contents SET body = '{' WHERE kind = 'config' AND body NOT LIKE '%one%'";
    alter(&stage.world.env.data_dir().join("catalog.db"), damage);
    stage.world.server.restart();
    // It is kept warm without requests, because its view was made.
    eventually_blocking(PATIENCE, || awake(&stage) == 2);
    eventually_blocking(PATIENCE, || stage.world.server.stderr().contains("App `damaged`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_of_a_package_goes_when_the_function_was_called_and_when_its_app_is_gone() {
    let stage = stage_with_a_cold_function(&[]);
    assert_eq!(stage.get("/cold").await.body, "cold");
    eventually_blocking(PATIENCE, || !is_noted(&stage));
    // Another version without any call.
    stage.world.env.write_file("cold/main.py", "def main():\n    return 'colder'\n");
    stage.world.ok("deploy --no-check");
    eventually_blocking(PATIENCE, || is_noted(&stage));
    stage.world.ok("app delete shop --yes");
    eventually_blocking(PATIENCE, || !is_noted(&stage));
}
