//! A deploy that does not load never goes live: the whole program, from the command to the next
//! request.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "serving/stage.rs"]
mod stage;

use std::time::Duration;

use milepost_testkit::cli::Output;
use milepost_testkit::eventually_blocking;
use serde_json::Value;
use stage::Stage;

const MANIFEST: &str =
    "app: shop\nfunctions:\n  hello: { env: python, src: hello, entrypoint: main.main }\nroutes:\n  - 'GET /': hello\n";

fn shop(code: &str) -> Stage {
    Stage::new("shop", &[], &[("milepost.yaml", MANIFEST), ("hello/main.py", code)])
}

fn says(text: &str) -> String {
    format!("def main():\n    return '{text}'\n")
}

fn deploy(stage: &Stage, code: &str) -> Output {
    stage.world.env.write_file("hello/main.py", code);
    stage.world.run("deploy")
}

async fn body(stage: &Stage) -> String {
    stage.get("/").await.body
}

fn releases(stage: &Stage) -> Vec<Value> {
    stage.world.json("release list").as_array().unwrap().clone()
}

#[tokio::test]
async fn a_deploy_that_does_not_load_fails_and_live_stays() {
    let stage = shop(&says("one"));
    let first = stage.deploy();
    let failed = deploy(&stage, "import nothing_of_the_kind\nprint('never')\n");
    assert_eq!(failed.status, Some(1), "{}", failed.snapshot());
    for told in ["nothing_of_the_kind", "hello version 2 does not load", &first, "deploy again"] {
        assert!(failed.stderr.contains(told), "`{told}` is not told:\n{}", failed.snapshot());
    }
    assert_eq!(body(&stage).await, "one");
    let newest = &releases(&stage)[0];
    let state = (&newest["check"]["state"], &newest["latest"], &newest["live"], &newest["state"]);
    assert_eq!(state, (&"failed".into(), &false.into(), &false.into(), &"active".into()), "{newest}");
    // Deploying the same again does not put it live either.
    let again = stage.world.run("deploy --quiet");
    assert_eq!(again.status, Some(1), "{}", again.snapshot());
    assert!(again.stderr.contains("hello version 2 does not load"), "{}", again.snapshot());
    // Neither does an unrelated change.
    let config = stage.world.run("config set a=1");
    assert_eq!(config.status, Some(1), "{}", config.snapshot());
    assert_eq!(body(&stage).await, "one");
    let id = newest["id"].as_str().unwrap();
    let refused = stage.world.run(&format!("release live {id}"));
    assert!(refused.status == Some(1) && refused.stderr.contains("--force"), "{}", refused.snapshot());
    // Live still follows, so the next good release goes live.
    assert!(deploy(&stage, &says("two")).succeeded());
    assert_eq!(body(&stage).await, "two");
}

#[tokio::test]
async fn a_deploy_that_is_repeated_during_its_check_ends_as_the_check_does() {
    let stage = shop(&says("one"));
    stage.deploy();
    stage.world.env.write_file(
        "hello/main.py",
        "import time
time.sleep(4)
import nothing_of_the_kind
",
    );
    let mut first = stage.world.env.command(&["deploy"]).spawn().unwrap();
    eventually_blocking(Duration::from_secs(20), || releases(&stage)[0]["check"]["state"] == "pending");
    let again = stage.world.run("deploy");
    assert_eq!(first.wait().unwrap().code(), Some(1));
    assert_eq!(again.status, Some(1), "{}", again.snapshot());
    let id = releases(&stage)[0]["id"].as_str().unwrap().to_owned();
    for told in ["nothing_of_the_kind", &id, "release create"] {
        assert!(
            again.stderr.contains(told),
            "`{told}` is not told:
{}",
            again.snapshot()
        );
    }
    assert_eq!(releases(&stage).len(), 2);
}

#[tokio::test]
async fn a_package_that_cannot_be_fetched_does_not_fail_the_check() {
    let stage = shop(&says("one"));
    stage.deploy();
    stage.world.env.write_file("hello/main.py", says("two"));
    stage.world.ok("deploy --no-release");
    let blobs = stage.world.env.data_dir().join("blobs");
    let away = stage.world.env.data_dir().join("blobs-away");
    std::fs::rename(&blobs, &away).unwrap();
    let tried = stage.world.run("release create");
    assert_eq!(tried.status, Some(1), "{}", tried.snapshot());
    for told in ["could not be checked", "could not be fetched", "hello version 2"] {
        assert!(tried.stderr.contains(told), "`{told}` is not told:\n{}", tried.snapshot());
    }
    assert_eq!(releases(&stage)[0]["check"]["state"], "pending");
    assert_eq!(body(&stage).await, "one");
    std::fs::remove_dir_all(&blobs).ok();
    std::fs::rename(&away, &blobs).unwrap();
    eventually_blocking(Duration::from_secs(60), || releases(&stage)[0]["check"]["state"] == "passed");
    assert_eq!(body(&stage).await, "two");
}

#[tokio::test]
async fn a_call_checks_its_needs_while_live_is_pinned() {
    let stage = shop(&says("one"));
    let first = stage.deploy();
    stage.world.ok(&format!("release live {first}"));
    let wrong_entry = MANIFEST.replace("main.main", "main.nothing");
    stage.world.env.write_file("milepost.yaml", &wrong_entry);
    let failed = stage.world.run("deploy");
    assert!(failed.status == Some(1) && failed.stderr.contains("nothing"), "{}", failed.snapshot());
    // The check fails until the secret is set, and then passes without another deploy.
    let with_secret = MANIFEST.replace("main.main }", "main.main, secrets: [TOKEN] }");
    stage.world.env.write_file("milepost.yaml", &with_secret);
    let failed = stage.world.run("deploy");
    assert!(failed.status == Some(1) && failed.stderr.contains("TOKEN"), "{}", failed.snapshot());
    assert!(stage.world.env.run_with_input(&["secret", "set", "TOKEN"], "x").succeeded());
    assert_eq!(releases(&stage)[0]["check"]["state"], "passed");
    stage.world.ok("release live --follow");
    assert_eq!(body(&stage).await, "one");
    assert_ne!(releases(&stage)[0]["id"], first.as_str());
}

#[tokio::test]
async fn no_check_is_the_users_choice_and_a_rollback_waits_for_nothing() {
    let stage = shop(&says("one"));
    stage.deploy();
    stage.world.env.write_file("hello/main.py", "this is no python\n");
    stage.world.ok("deploy --no-check");
    let newest = &releases(&stage)[0];
    assert_eq!((&newest["check"]["state"], &newest["live"]), (&"skipped".into(), &true.into()));
    assert!(stage.world.ok("app history").contains("release.created"));
    assert_eq!(stage.get("/").await.status, 503);
    stage.world.ok("rollback --yes");
    assert_eq!(body(&stage).await, "one");
}

#[tokio::test]
async fn a_binary_is_loaded_when_it_accepts() {
    let manifest = "app: shop\nfunctions:\n  hello: { env: binary, src: hello }\nroutes:\n  - 'GET /': hello\n";
    let serves = "#!/usr/bin/env python3\nimport http.server, socket\nclass H(http.server.BaseHTTPRequestHandler):\n    \
                  def do_GET(self):\n        self.send_response(200)\n        self.send_header('content-length', '3')\n        \
                  self.end_headers()\n        self.wfile.write(b'one')\n    def address_string(self):\n        return ''\n\
                  class S(http.server.HTTPServer):\n    address_family = socket.AF_UNIX\n    def server_bind(self):\n        pass\n    \
                  def server_activate(self):\n        pass\n    def get_request(self):\n        return self.socket.accept()[0], ('', 0)\n\
                  s = S('', H, False)\ns.socket = socket.socket(fileno=3)\ns.serve_forever()\n";
    let stage = Stage::new("shop", &[], &[("milepost.yaml", manifest), ("hello/main", serves)]);
    let make_executable = || {
        use std::os::unix::fs::PermissionsExt;
        let path = stage.world.env.work_dir().join("hello/main");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    make_executable();
    stage.deploy();
    assert_eq!(body(&stage).await, "one");
    stage.world.env.write_file("hello/main", "#!/bin/sh\necho cannot find my settings >&2\nsleep 0.2\nexit 3\n");
    make_executable();
    let failed = stage.world.run("deploy");
    assert!(failed.status == Some(1) && failed.stderr.contains("cannot find my settings"), "{}", failed.snapshot());
    assert_eq!(body(&stage).await, "one");
}

#[tokio::test]
async fn a_check_that_a_crash_cut_off_leaves_live_where_it_was_and_is_resumed() {
    let mut stage = shop(&says("one"));
    let first = stage.deploy();
    let slow = format!("import time\ntime.sleep(3)\n{}", says("two"));
    stage.world.env.write_file("hello/main.py", &slow);
    let mut sent = stage.world.env.command(&["deploy"]).spawn().unwrap();
    eventually_blocking(Duration::from_secs(20), || releases(&stage)[0]["check"]["state"] == "pending");
    stage.world.server.kill9();
    let _ = sent.kill();
    let _ = sent.wait();
    stage.world.server.restart();
    let pending = releases(&stage);
    assert_eq!(pending.iter().find(|release| release["live"] == true).unwrap()["id"], first.as_str());
    eventually_blocking(Duration::from_secs(30), || releases(&stage)[0]["check"]["state"] == "passed");
    assert_eq!(releases(&stage)[0]["live"], true);
    assert_eq!(body(&stage).await, "two");
}

#[tokio::test]
async fn a_delete_that_would_restore_a_broken_version_deletes_nothing() {
    let stage = shop(&says("one"));
    stage.deploy();
    assert_eq!(deploy(&stage, "no python at all\n").status, Some(1));
    assert!(deploy(&stage, &says("three")).succeeded());
    let refused = stage.world.run("function version delete --name hello --version 3 --yes");
    assert!(refused.status == Some(1) && refused.stderr.contains("hello version 2"), "{}", refused.snapshot());
    assert_eq!(body(&stage).await, "three");
    stage.world.ok("function version delete --name hello --version 2 --yes");
    stage.world.ok("function version delete --name hello --version 3 --yes");
    assert_eq!(body(&stage).await, "one");
}

#[test]
fn unsupported_runtimes_are_refused_on_creation() {
    let stage = shop(&says("one"));
    stage.deploy();
    let missing = stage.world.run("environment create old --runtime python --interpreter 2.7");
    assert_eq!(missing.status, Some(1));
    for told in ["python 2.7 is not on the server's PATH", "there is 3."] {
        assert!(missing.stderr.contains(told), "{}", missing.snapshot());
    }
    let wasm = stage.world.run("environment create w --runtime wasm");
    assert!(wasm.status == Some(2) && wasm.stderr.contains("wasm functions do not run yet"), "{}", wasm.snapshot());
    let function = stage.world.run("function create w --env wasm --code hello/main.py");
    assert!(function.status == Some(1) && function.stderr.contains("do not run yet"), "{}", function.snapshot());
    stage.world.env.write_file("milepost.yaml", MANIFEST.replace("env: python", "env: wasm"));
    let deployed = stage.world.run("deploy");
    let told = deployed.stderr.contains("wasm functions do not run yet");
    assert!(!deployed.succeeded() && told, "{}", deployed.snapshot());
}

#[test]
fn a_dry_run_compares_the_plan_also_for_an_app_that_is_not_there() {
    let stage = shop(&says("one"));
    let greedy = MANIFEST.replace("main.main }", "main.main, memory: 64Gi, scale: { max: 500 } }");
    stage.world.env.write_file("milepost.yaml", &greedy);
    let planned = stage.world.run("deploy --dry-run");
    assert_eq!(planned.status.map(|code| code > 0), Some(true), "{}", planned.snapshot());
    for told in ["65536 MiB", "500 instances", "plan `standard` allows"] {
        assert!(planned.stderr.contains(told), "{}", planned.snapshot());
    }
    let specs = "apiVersion: fission.io/v1\nkind: Function\nmetadata: {name: hello}\nspec:\n  environment: {name: python}\n  \
                 package: {packageref: {name: code}}\n  resources: {limits: {memory: 64Gi}}\n---\napiVersion: fission.io/v1\nkind: \
                 Package\nmetadata: {name: code}\nspec: {environment: {name: python}, deployment: {type: url, url: \
                 \"archive://code\"}}\n---\nkind: ArchiveUploadSpec\nname: code\ninclude: [\"hello/*\"]\n";
    stage.world.env.write_file("specs/all.yaml", specs);
    for line in ["spec version validate", "spec version apply --dry-run"] {
        let refused = stage.world.run(line);
        let says = refused.stderr.contains("65536 MiB of memory; the plan `standard` allows");
        assert!(!refused.succeeded() && says, "{line}: {}", refused.snapshot());
    }
    assert!(!stage.world.ok("app list").contains("shop"));
}
