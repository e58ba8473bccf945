use std::io::Write;
use std::process::{Command, Stdio};

use milepost_model::execution::ExecutionStatus;
use serde_json::{Value, json};

use crate::stage::{ECHO, Stage};

/// The signature of a webhook's sender, made by another program than ours.
fn signed(secret: &str, body: &str) -> String {
    let script =
        "import hmac, sys; print(hmac.new(sys.argv[1].encode(), sys.stdin.buffer.read(), 'sha256').hexdigest())";
    let mut python = Command::new("python3")
        .args(["-c", script, secret])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    format!("sha256={}", String::from_utf8(output.stdout).unwrap().trim())
}

/// The address to call. Ports in the output of commands are masked.
fn address(stage: &Stage, webhook: &Value) -> String {
    let path = format!("/api/v1/webhooks/{}/invoke", webhook["id"].as_str().unwrap());
    assert!(webhook["url"].as_str().unwrap().ends_with(&path), "{webhook}");
    stage.client().server().join(&path).unwrap().to_string()
}

/// Calls an address without a token, and returns the status and the body.
fn call(stage: &Stage, url: &str, signature: Option<&str>, body: &str) -> (u16, Value) {
    // Creating our client installs the TLS provider that reqwest needs.
    let _client = stage.client();
    stage.block_on(async {
        let mut request =
            reqwest::Client::new().post(url).header("content-type", "application/json").body(body.to_owned());
        if let Some(signature) = signature {
            request = request.header("x-hub-signature-256", signature);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    })
}

#[test]
fn a_call_of_a_webhook_runs_the_function_with_the_body_as_input() {
    let stage = Stage::new(&[]);
    let webhook = stage.world.json("webhook create --function echo --description 'from git'");
    let (id, url) = (webhook["id"].as_str().unwrap(), &address(&stage, &webhook));
    assert_eq!(webhook.get("secret"), None);
    let (status, started) = call(&stage, url, None, "{\"a\": [1]}");
    assert_eq!(status, 202, "{started}");
    let ended = stage.ended(started["execution"].as_str().unwrap());
    assert_eq!(ended.status, ExecutionStatus::Success);
    assert_eq!(ended.result.unwrap().to_value()["given"], json!({ "a": [1] }));
    assert_eq!(ended.started_by, "admin");
    let listed = stage.world.json(&format!("execution list --webhook {id}"));
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["cause"]["id"]), (1, &json!(id)));
    assert!(stage.world.ok("execution list").contains("webhook from git"));
    let table = stage.world.ok("webhook list");
    assert!(table.contains("echo latest") && table.contains("from git"), "{table}");
    assert_eq!(stage.world.ok("webhook list -o name").trim(), id);

    // The webhook calls the newest code, then an alias, then a fixed version.
    stage.world.env.write_file("echo/main.py", ECHO.replace("'answer': 1", "'answer': 2"));
    stage.deploy();
    stage.world.ok("function alias create echo --alias stable --version 1");
    let answer = || {
        let (_, started) = call(&stage, url, None, "");
        stage.ended(started["execution"].as_str().unwrap()).result.unwrap().to_value()["answer"].clone()
    };
    assert_eq!(answer(), 2);
    stage.world.ok(&format!("webhook update {id} --alias stable"));
    assert_eq!(answer(), 1);
    let refused = stage.world.run("function version delete echo --version 1");
    assert_eq!(refused.status, Some(1), "the alias needs it: {}", refused.snapshot());
    let pinned = stage.world.json(&format!("webhook update {id} --version 2 --description pinned"));
    assert_eq!((&pinned["version"], &pinned["description"]), (&json!(2), &json!("pinned")));
    assert_eq!(answer(), 2);
    let nothing = stage.world.run(&format!("webhook update {id}"));
    assert_eq!(nothing.status, Some(2), "{}", nothing.snapshot());

    stage.world.ok(&format!("webhook delete {id}"));
    let (status, problem) = call(&stage, url, None, "");
    assert_eq!((status, &problem["code"]), (404, &json!("webhook_not_found")));
    assert_eq!(stage.world.json("webhook list"), json!([]));
}

#[test]
fn body_limits_apply_to_the_sent_bytes_and_not_to_the_json() {
    let stage = Stage::new(&[]);
    let url = address(&stage, &stage.world.json("webhook create --function conf"));
    let _client = stage.client();
    let send = |length: usize| {
        let text = reqwest::Client::new().post(&url).header("content-type", "text/plain").body("\n".repeat(length));
        stage.block_on(async {
            let response = text.send().await.unwrap();
            (response.status().as_u16(), response.json::<Value>().await.unwrap())
        })
    };
    let (status, started) = send(1 << 20);
    assert_eq!(status, 202, "{started}");
    let ended = stage.ended(started["execution"].as_str().unwrap());
    assert_eq!((ended.status, ended.input), (ExecutionStatus::Success, Some("\n".repeat(1 << 20).as_str().into())));
    assert_eq!(send((1 << 20) + 1).0, 413);
}

#[test]
fn a_secret_is_shown_once_and_calls_must_be_signed_with_it() {
    let stage = Stage::new(&[]);
    let webhook = stage.world.json("webhook create --function echo --signed");
    let (id, url) = (webhook["id"].as_str().unwrap(), &address(&stage, &webhook));
    let secret = webhook["secret"].as_str().unwrap();
    assert_eq!(secret.len(), 64);
    assert!(!stage.world.ok(&format!("webhook get {id} -o json")).contains(secret));
    let body = "{\"a\": 1}";
    assert_eq!(call(&stage, url, None, body).0, 401);
    assert_eq!(call(&stage, url, Some(&signed("not it", body)), body).0, 401);
    let (status, started) = call(&stage, url, Some(&signed(secret, body)), body);
    assert_eq!(status, 202, "{started}");
    assert_eq!(
        stage.ended(started["execution"].as_str().unwrap()).result.unwrap().to_value()["given"],
        json!({ "a": 1 })
    );

    let rotated = stage.world.json(&format!("webhook rotate {id}"));
    let new = rotated["secret"].as_str().unwrap();
    assert_ne!(new, secret);
    assert_eq!(call(&stage, url, Some(&signed(secret, body)), body).0, 401);
    assert_eq!(call(&stage, url, Some(&signed(new, body)), body).0, 202);
    // A secret chosen by the sender survives a restart: it is sealed with the key of the server.
    stage.world.env.write_file("secret.txt", "chosen by the sender\n");
    let own = stage.world.json(&format!("webhook update {id} --secret-file secret.txt"));
    assert_eq!((&own["signed"], own.get("secret")), (&json!(true), None));
    assert_eq!(call(&stage, url, Some(&signed("chosen by the sender", body)), body).0, 202);
    assert_eq!(stage.world.json(&format!("webhook update {id} --unsigned"))["signed"], false);
    assert_eq!(call(&stage, url, None, body).0, 202);
}
