use std::collections::BTreeMap;
use std::fs;

use milepost_testkit::cli::CliEnv;
use serde_json::Value;

use crate::common::World;
use crate::terminal::Terminal;

const MANIFEST: &str = "app: shop
functions:
  hello:
    env: python
    src: hello
    entrypoint: hello.main
static:
  - src: public
    path: /
routes:
  - GET /hello: hello
";

fn shop(env: &CliEnv) {
    env.write_file("shop/milepost.yaml", MANIFEST);
    env.write_file("shop/hello/hello.py", "def main():\n    print('seen in the log')\n    return 'hello'\n");
    env.write_file("shop/public/index.html", "one");
}

fn env() -> CliEnv {
    let mut env = CliEnv::new();
    env.unset("MILEPOST_TEST_SEED");
    env.unset("MILEPOST_TEST_CLOCK");
    shop(&env);
    env
}

fn up(env: &CliEnv, more: &[&str]) -> Terminal {
    let args = [&["up", "shop", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"], more].concat();
    Terminal::start(env.command(&args))
}

fn server_file(env: &CliEnv) -> Value {
    serde_json::from_slice(&fs::read(env.data_dir().join("server.json")).unwrap()).unwrap()
}

/// The response of the embedded server's gateway: status and body.
async fn get(env: &CliEnv, path: &str) -> (u16, String) {
    let facts = server_file(env);
    let gateway = facts["gateway"].as_str().unwrap();
    let port = gateway.trim_end_matches('/').rsplit(':').next().unwrap();
    // Creating our client installs the TLS provider that reqwest needs.
    drop(milepost_client::Client::new(gateway, "none").unwrap());
    let request = reqwest::Client::new().get(format!("http://127.0.0.1:{port}{path}"));
    let response = request.header("host", format!("shop.localhost:{port}")).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Parents of all processes.
fn parents() -> BTreeMap<u32, u32> {
    let read = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?))
    };
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter_map(read).collect()
}

fn below(pid: u32) -> Vec<u32> {
    let parents = parents();
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let of = found[at];
        found.extend(parents.iter().filter(|(_, parent)| **parent == of).map(|(child, _)| *child));
        at += 1;
    }
    found.remove(0);
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn up_serves_a_folder_redeploys_on_save_and_cleans_up() {
    let env = env();
    let mut up = up(&env, &["--watch"]);
    up.wait_for("Started a server");
    up.wait_for("App shop created");
    up.wait_for("Watching for saved files and following the logs");
    assert_eq!(get(&env, "/").await, (200, "one".to_owned()));
    assert_eq!(get(&env, "/hello").await, (200, "hello".to_owned()));
    up.wait_for("hello@1 out seen in the log");

    env.write_file("shop/public/index.html", "two");
    up.wait_for("saved public/index.html → live in");
    assert_eq!(get(&env, "/").await, (200, "two".to_owned()));

    // After a mistake the old release stays live, and the next save fixes it.
    env.write_file("shop/milepost.yaml", MANIFEST.replace("path: /", "pfad: /"));
    up.wait_for("Error: shop/milepost.yaml:9: unknown key `pfad` in a static item");
    assert_eq!(get(&env, "/").await, (200, "two".to_owned()));
    env.write_file("shop/milepost.yaml", format!("{MANIFEST}  - GET /hi: hello\n"));
    up.wait_for("saved milepost.yaml → live in");
    assert_eq!(get(&env, "/hi").await, (200, "hello".to_owned()));

    let workers = below(up.pid());
    assert!(!workers.is_empty(), "a function has run");
    assert!(up.interrupt().success());
    let alive = parents();
    let left: Vec<&u32> = workers.iter().filter(|worker| alive.contains_key(worker)).collect();
    assert!(left.is_empty(), "workers outlived the server: {left:?}");
    let after = env.run(&["--app", "shop", "status"]);
    assert!(!after.succeeded() && after.stderr.contains("no Milepost server uses the data folder"), "{}", after.stderr);
}

#[test]
fn up_uses_the_server_that_runs_and_leaves_it_running() {
    let world = World::on_machine_time();
    shop(&world.env);
    let output = world.run("up shop --no-logs");
    assert!(output.succeeded(), "{}", output.snapshot());
    assert!(output.stderr.contains("Using the server at"), "{}", output.snapshot());
    assert!(output.stdout.contains("  live     http://shop.localhost:PORT/"), "{}", output.snapshot());
    let mut following = Terminal::start(world.env.command(&["up", "shop"]));
    following.wait_for("Following the logs");
    assert!(following.interrupt().success());
    assert_eq!(world.json("--app shop status")["app"], "shop");
}

#[test]
fn a_folder_that_cannot_be_deployed_starts_no_server() {
    let env = env();
    env.write_file("shop/milepost.yaml", "app: shop\nfuntions: {}\n");
    let output = env.run(&["up", "shop", "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0"]);
    assert_eq!(output.status, Some(2), "{}", output.snapshot());
    assert!(output.stderr.contains("shop/milepost.yaml:2: unknown key `funtions`"), "{}", output.snapshot());
    assert!(!env.data_dir().exists());
}

#[test]
fn up_reports_the_same_problems_as_deploy() {
    let world = World::on_machine_time();
    shop(&world.env);
    // One mistake in the manifest, one that only the app can show, and one in the files.
    let manifest = MANIFEST.replace("GET /hello: hello", "GET /hello: helo");
    let manifest = manifest.replace("    entrypoint: hello.main\n", "    entrypoint: hello.main\n    memori: 128Mi\n");
    world.env.write_file("shop/milepost.yaml", manifest);
    std::os::unix::fs::symlink("/etc/passwd", world.env.work_dir().join("shop/hello/link")).unwrap();
    let deploy = world.run("deploy shop");
    assert_eq!(deploy.status, Some(2), "{}", deploy.snapshot());
    for text in ["unknown key `memori`", "refers to function `helo`", "hello/link` points to", "3 mistakes"] {
        assert!(deploy.stderr.contains(text), "`{text}` is not in {}", deploy.snapshot());
    }
    let up = world.run("up shop --no-logs");
    assert_eq!((up.status, &up.stderr), (Some(2), &deploy.stderr));
}

#[test]
fn a_manifest_that_is_about_another_app_now_is_not_deployed_into_the_first() {
    let world = World::on_machine_time();
    shop(&world.env);
    let mut up = Terminal::start(world.env.command(&["up", "shop", "--watch", "--no-logs"]));
    up.wait_for("Watching for saved files");
    world.env.write_file("shop/milepost.yaml", MANIFEST.replace("app: shop", "app: shelf"));
    up.wait_for("the manifest now describes app shelf");
    // Mistakes are reported as by `deploy`.
    world.env.write_file("shop/milepost.yaml", MANIFEST.replace("path: /", "pfad: /").replace(": hello\n", ": helo\n"));
    up.wait_for("unknown key `pfad`");
    up.wait_for("refers to function `helo`");
    assert!(up.interrupt().success());
}
