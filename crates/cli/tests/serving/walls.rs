use crate::stage::Stage;

/// Tries what a function must not be able to do, and reports the results.
const PRYING: &str = r#"
import json
import os

from flask import request


def main():
    def look(path):
        try:
            return os.listdir(path) if os.path.isdir(path) else open(path).read()[:200]
        except OSError as error:
            return type(error).__name__
    processes = [name for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []
    wrote = "no"
    try:
        open("/app/new", "w").write("x")
        wrote = "yes"
    except OSError:
        pass
    return {
        "data": look(request.args["data"]),
        "token": look(request.args["data"] + "/admin.token"),
        "database": look(request.args["data"] + "/catalog.db"),
        "packages": look(request.args["data"] + "/cache/packages"),
        "shadow": look("/etc/shadow"),
        "processes": len(processes),
        "wrote": wrote,
        "environment": sorted(name for name in os.environ if "SECRET" in name or "AWS" in name or "TOKEN" in name),
        "user": os.getuid(),
    }
"#;

const MANIFEST: &str =
    "app: shop\nfunctions:\n  pry: { env: python, src: pry/, secrets: [OWN_SECRET] }\nroutes:\n  - GET /: pry\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_function_sees_nothing_of_the_server_or_of_other_apps() {
    let stage = Stage::new("shop", &[], &[("milepost.yaml", MANIFEST), ("pry/main.py", PRYING)]);
    stage.world.ok("app create shop");
    stage.world.ok("app create other");
    for (app, secret) in [("shop", "OWN_SECRET"), ("other", "THEIR_SECRET")] {
        let set = stage.world.env.run_with_input(&["secret", "set", secret, "--app", app], "value\n");
        assert!(set.succeeded(), "{}", set.stderr);
    }
    stage.deploy();
    let data = stage.world.env.data_dir();
    let answer = stage.get(&format!("/?data={}", data.display())).await;
    assert_eq!(answer.status, 200, "{}\n{}", answer.body, stage.log_of(&answer.request));
    let seen: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    for what in ["token", "database", "packages", "shadow"] {
        let error = seen[what].as_str().unwrap_or_else(|| panic!("{what} can be read: {seen}"));
        assert!(["FileNotFoundError", "PermissionError", "NotADirectoryError"].contains(&error), "{what}: {seen}");
    }
    // Only the path to its own files may be visible.
    if let Some(entries) = seen["data"].as_array() {
        assert_eq!(entries, &[serde_json::json!("run")], "{seen}");
    }
    assert_eq!(seen["wrote"], "no", "{seen}");
    assert_eq!(seen["environment"], serde_json::json!(["OWN_SECRET"]));
    // Where the machine refuses namespaces (a plain chroot, some containers), other means hide the
    // files. Other processes are visible then, and `milepost doctor` reports it.
    let doctor = stage.world.env.run(&["doctor", "-o", "json"]);
    let checks: Vec<serde_json::Value> = serde_json::from_str(&doctor.stdout).unwrap();
    let namespaces = checks.iter().find(|check| check["name"] == "sandbox: namespaces").unwrap();
    if namespaces["state"] == "ok" {
        assert!(seen["processes"].as_u64().unwrap() <= 3, "{seen}");
        assert_ne!(seen["user"], 0, "{seen}");
    }
}
