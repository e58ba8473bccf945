//! The listeners of the gateway and of the API: who may hold connections, and what passes.

use std::time::Duration;

use reqwest::header::HOST;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stage::{Answer, Stage, get};

const APP: &[(&str, &str)] = &[
    (
        "milepost.yaml",
        "app: shop
functions:
  show: { env: python, src: show/, entrypoint: main.app, scale: { min: 1 } }
  hidden: { env: python, src: hidden/, permission: internal }
routes:
  - GET /show: show
  - GET /hidden: hidden
static:
  - { src: site, path: /site }
",
    ),
    (
        "show/main.py",
        "import json, os, milepost

def app(environ, start_response):
    seen = {name: value for name, value in environ.items() if isinstance(value, str) and name.startswith('HTTP_')}
    seen['call'], seen['inside'] = milepost._fact(':call'), os.environ['MILEPOST_GATEWAY']
    seen['id'] = milepost.request_id()
    start_response('200 OK', [('content-type', 'application/json')])
    return [json.dumps(seen).encode()]
",
    ),
    ("hidden/main.py", "def main():\n    return 'for the app itself'\n"),
    ("site/x.txt", "one"),
];

/// Opens idle connections, any of which the server may close.
async fn idle(url: &str, count: usize) -> Vec<TcpStream> {
    let address = url.trim_start_matches("http://").trim_end_matches('/').replace("localhost", "127.0.0.1");
    let mut held = Vec::new();
    for _ in 0..count {
        held.push(TcpStream::connect(&address).await.unwrap());
    }
    held
}

async fn with(stage: &Stage, url: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
    let mut request = stage.client.get(url).header(HOST, "shop.localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    let id = answer.headers().get("milepost-request-id").map(|id| id.to_str().unwrap().to_owned());
    (answer.status().as_u16(), id.unwrap_or_default(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_block_the_gateway_or_the_api() {
    let stage = Stage::new("shop", &["--connections", "128", "--api-connections", "64"], APP);
    stage.deploy();
    let _gateway = idle(stage.world.server.gateway(), 400).await;
    let _api = idle(stage.world.server.api(), 300).await;
    let fresh = reqwest::Client::builder().timeout(Duration::from_secs(5)).build().unwrap();
    for _ in 0..20 {
        let Answer { status, body, .. } = get(&fresh, &stage.url("/site/x.txt"), "shop").await.unwrap();
        assert_eq!((status, body.as_str()), (200, "one"));
    }
    assert!(stage.world.ok("app list -o name").contains("shop"));
    // More than the limit for connections without a token.
    let client = stage.world.client();
    for _ in 0..40 {
        client.app_list(10, None).await.unwrap();
    }
    let log = stage.world.server.stderr();
    assert!(!log.contains("cannot be accepted"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_connections_that_cannot_be_kept_is_refused_at_the_start() {
    let stage = Stage::new("shop", &[], &[]);
    let output =
        stage.world.env.run(&["serve", "--data", "other", "--api", "127.0.0.1:0", "--connections", "2000000000"]);
    assert_eq!(output.status, Some(1));
    assert!(
        output.stderr.contains("connections cannot be held") && output.stderr.contains("ulimit"),
        "{}",
        output.stderr
    );
}

/// A function may pass its token on by accident, for example with all headers to another service.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_token_opens_nothing_at_the_public_door() {
    let stage = Stage::new("shop", &[], APP);
    stage.deploy();
    let seen: Value = serde_json::from_str(&stage.get("/show").await.body).unwrap();
    let (token, inside) = (seen["call"].as_str().unwrap(), seen["inside"].as_str().unwrap());
    let call = [("milepost-call", token)];
    let (status, _, body) = with(&stage, &stage.url("/hidden"), &call).await;
    assert_eq!((status, body.contains("for the app itself")), (403, false), "{body}");
    assert_eq!(with(&stage, &stage.url("/.milepost/call/hidden"), &call).await.0, 404);
    let (status, _, body) = with(&stage, &format!("http://{inside}/hidden"), &call).await;
    assert_eq!((status, body.as_str()), (200, "for the app itself"));
    let (_, _, body) = with(&stage, &stage.url("/show"), &[("milepost-call", "forged")]).await;
    assert!(!body.contains("forged"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_only_a_proxy_may_send_do_not_reach_a_function_in_any_spelling() {
    let stage = Stage::new("shop", &[], APP);
    stage.deploy();
    let sent = [
        ("x_forwarded_for", "6.6.6.6"),
        ("x_real_ip", "6.6.6.6"),
        ("x_forwarded_proto", "https"),
        ("milepost_execution", "FAKE"),
        ("x-forwarded_host", "evil.example"),
        ("x-forwarded-port", "666"),
        ("x-forwarded-prefix", "/evil"),
        ("x-original-url", "/evil"),
        ("x-rewrite-url", "/evil"),
        ("cf-connecting-ip", "6.6.6.6"),
        ("fastly-client-ip", "6.6.6.6"),
        ("fly-client-ip", "6.6.6.6"),
        ("x-azure-clientip", "6.6.6.6"),
        ("x-envoy-external-address", "6.6.6.6"),
        ("x-forwarded", "for=6.6.6.6"),
        ("x-url-scheme", "https"),
        ("x-request-id", "chosen-by-the-caller"),
        ("x-mine", "stays"),
    ];
    let (status, id, body) = with(&stage, &stage.url("/show"), &sent).await;
    assert_eq!(status, 200, "{body}");
    for bad in ["6.6.6.6", "FAKE", "evil", "666", "https"] {
        assert!(!body.contains(bad), "{bad} in {body}");
    }
    let seen: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&seen["HTTP_X_MINE"], &seen["HTTP_X_FORWARDED_FOR"]), (&"stays".into(), &"127.0.0.1".into()));
    assert_eq!((seen["id"].as_str(), seen["HTTP_X_REQUEST_ID"].as_str()), (Some(&*id), Some(&*id)));
    assert_eq!(seen["HTTP_MILEPOST_CALLER_REQUEST_ID"], "chosen-by-the-caller");
}

/// A token with the role invoker may call functions, but not act as a gateway.
#[tokio::test(flavor = "multi_thread")]
async fn callers_at_the_api_cannot_speak_for_the_gateway_or_a_proxy() {
    let stage = Stage::new("shop", &[], APP);
    stage.deploy();
    let token = stage.world.json("token create ivy --role invoker")["token"].as_str().unwrap().to_owned();
    let url = format!("{}/api/v1/apps/shop/functions/show/call?method=GET&path=/show", stage.world.server.api());
    let mut request = stage.client.post(url).bearer_auth(token);
    for (name, value) in [
        ("x-real-ip", "6.6.6.6"),
        ("x-forwarded-for", "6.6.6.6"),
        ("x-forwarded-proto", "https"),
        ("x_forwarded_for", "6.6.6.6"),
        ("forwarded", "for=6.6.6.6"),
        ("x-original-url", "/evil"),
        ("cf-connecting-ip", "6.6.6.6"),
        ("milepost-execution", "FAKE"),
        ("milepost-call", "FAKE"),
        ("milepost-timer", "FAKE"),
        ("x-fission-params-id", "FAKE"),
        ("transfer-encoding", "FAKE"),
        ("x-mine", "stays"),
    ] {
        request = request.header(format!("milepost-header-{name}"), value);
    }
    let answer = request.send().await.unwrap();
    let (status, body) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(status, 200, "{body}");
    for bad in ["6.6.6.6", "FAKE", "evil", "https"] {
        assert!(!body.contains(bad), "{bad} in {body}");
    }
    let seen: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(seen["HTTP_X_MINE"], "stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_handshake_is_never_answered_as_a_get() {
    let stage = Stage::new("shop", &[], APP);
    stage.deploy();
    let handshake =
        [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13"), ("accept", "text/html")];
    for path in ["/show", "/site/x.txt", "/none"] {
        let (status, _, body) = with(&stage, &stage.url(path), &handshake).await;
        assert!(status == 501 && body.contains("WebSockets"), "{path}: {status} {body}");
    }
}

/// The headers announce 30 MB: the response must not wait for the body.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_role_is_refused_before_the_body_is_read() {
    let stage = Stage::new("shop", &[], APP);
    let token = stage.world.json("token create ron --role reader")["token"].as_str().unwrap().to_owned();
    let address = stage.world.server.api().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/v1/apps/default/changes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 30000000\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    tokio::time::timeout(Duration::from_secs(10), stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_mirrors_no_host_that_is_none() {
    let stage = Stage::new("shop", &[], APP);
    let address = stage.world.server.api().trim_start_matches("http://").trim_end_matches('/').to_owned();
    for path in ["/", "/v1"] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let asked = format!("GET {path} HTTP/1.1\r\nhost: x\"><script>\r\nconnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(!answer.contains("script"), "{answer}");
    }
}

/// The function answers 500 itself. It counts as an error, because its users saw one.
#[tokio::test(flavor = "multi_thread")]
async fn answers_of_500_and_above_count_as_errors_of_the_function() {
    let files = [
        ("milepost.yaml", "app: shop\nfunctions:\n  f: { env: python, src: f/ }\nroutes:\n  - GET /x: f\n"),
        ("f/main.py", "def main(request):\n    return 'sorry', int(request.args.get('s', '503'))\n"),
    ];
    let stage = Stage::new("shop", &[], &files);
    stage.deploy();
    for (status, query) in [(200, "200"), (404, "404"), (500, "500"), (503, "503")] {
        assert_eq!(stage.get(&format!("/x?s={query}")).await.status, status);
    }
    let told = stage.world.json("status");
    let function = &told["functions"][0];
    assert_eq!((&function["requests"], &function["errors"]), (&4.into(), &2.into()), "{told}");
    let recent = function["recentErrors"].as_array().unwrap();
    assert!(recent.iter().any(|error| error["message"].as_str().unwrap().contains("status 503")), "{told}");
    let tested = stage.world.run("function test f --query s=500");
    assert_eq!(tested.status, Some(1), "{}", tested.snapshot());
    assert!(tested.stderr.contains("the function returned status 500"), "{}", tested.stderr);
}
