//! A delivery in GitHub's format: the headers say what it is about.

use std::time::Duration;

use milepost_testkit::eventually;
use serde_json::{Value, json};

use crate::stage::Stage;

const APP: &[(&str, &str)] = &[
    ("milepost.yaml", "app: shop\nfunctions:\n  py: { env: python, src: py/ }\n  js: { env: node, src: js/ }\n"),
    (
        "py/main.py",
        "def main(context=None, **given):\n    headers = context['headers']\n    return {'event': headers.get('x-github-event'), 'headers': headers, 'given': given}\n",
    ),
    (
        "js/index.js",
        "module.exports = async (context) => ({ status: 200, body: { event: context.request.headers['x-github-event'], headers: context.request.headers, given: context.request.body } })\n",
    ),
];

/// HMAC-SHA256, computed by another program than ours.
fn signed(secret: &str, body: &str) -> String {
    let script = "import hmac, sys; print(hmac.new(sys.argv[1].encode(), sys.argv[2].encode(), 'sha256').hexdigest())";
    let output = std::process::Command::new("python3").args(["-c", script, secret, body]).output().unwrap();
    format!("sha256={}", String::from_utf8(output.stdout).unwrap().trim())
}

async fn delivered(stage: &Stage, webhook: &Value, event: &str, body: &str) -> Value {
    let path = format!("/api/v1/webhooks/{}/invoke", webhook["id"].as_str().unwrap());
    let url = stage.world.client().server().join(&path).unwrap();
    let mut request = stage.client.post(url).header("content-type", "application/json").body(body.to_owned());
    for (name, value) in [
        ("x-github-event", event),
        ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
        ("user-agent", "GitHub-Hookshot/044aadd"),
        ("x-hub-signature-256", &signed(webhook["secret"].as_str().unwrap(), body)),
        ("authorization", "Bearer of-somebody"),
        ("cookie", "session=of-somebody"),
        ("x-auth-token", "of-somebody"),
        ("proxy-authorization", "of-somebody"),
        ("milepost-execution", "forged"),
        ("x-forwarded-for", "6.6.6.6"),
    ] {
        request = request.header(name, value);
    }
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 202);
    let id = answer.json::<Value>().await.unwrap()["execution"].as_str().unwrap().to_owned();
    let get = || stage.world.json(&format!("execution get {id}"));
    eventually(Duration::from_secs(30), || async { get()["status"] == "success" }).await;
    get()
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_get_the_event_of_a_delivery_but_no_credentials() {
    let stage = Stage::new("shop", &[], APP);
    stage.deploy();
    for function in ["py", "js"] {
        let webhook = stage.world.json(&format!("webhook create --function {function} --signed"));
        for (event, body) in [("ping", r#"{"zen": "Design for failure."}"#), ("push", r#"{"ref": "refs/heads/main"}"#)]
        {
            let execution = delivered(&stage, &webhook, event, body).await;
            let result = &execution["result"];
            assert_eq!(result["event"], event, "{function}: {execution:#}");
            assert_eq!(result["given"], serde_json::from_str::<Value>(body).unwrap(), "{function}");
            assert_eq!(result["headers"]["milepost-execution"], execution["id"], "{function}");
            let text = execution.to_string();
            for bad in ["of-somebody", "forged", "6.6.6.6", "signature"] {
                assert!(!text.contains(bad), "{bad} in {text}");
            }
            let kept = json!({
                "user-agent": "GitHub-Hookshot/044aadd",
                "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
                "x-github-event": event,
            });
            assert_eq!(execution["headers"], kept);
        }
    }
}
