use std::process::Command;

use reqwest::Client;

use crate::stage::Stage;

const MANIFEST: &str = "
app: shop
functions:
  event: { env: python, src: event/, entrypoint: app.handler }
  flask: { env: python, src: flask/ }
  context: { env: node, src: context/ }
  program: { env: binary, src: bin/, entrypoint: server }
routes:
  - GET /event: event
  - GET /flask: flask
  - GET /context: context
  - GET /program: program
";

/// Responds to every request with the request's head.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    static char head[65536], answer[70000];
    for (;;) {
        int connection = accept(3, NULL, NULL);
        size_t held = 0;
        ssize_t got;
        while (held < sizeof head - 1 && (got = read(connection, head + held, sizeof head - 1 - held)) > 0) {
            held += (size_t)got;
            head[held] = 0;
            if (strstr(head, "\r\n\r\n")) break;
        }
        int length = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %zu\r\n\r\n%s", held, head);
        if (write(connection, answer, (size_t)length) != length) return 1;
        close(connection);
    }
}
"#;

const FILES: &[(&str, &str)] = &[
    ("milepost.yaml", MANIFEST),
    (
        "event/app.py",
        "def handler(event, context):\n    return {'statusCode': 200, 'body': '|'.join(event['cookies'])}\n",
    ),
    (
        "flask/main.py",
        "from flask import request\n\ndef main():\n    return '|'.join(f'{k}={v}' for k, v in sorted(request.cookies.items()))\n",
    ),
    (
        "context/index.js",
        "module.exports = async (context) => ({ status: 200, body: JSON.stringify(context.request.cookies) });\n",
    ),
    ("program.c", PROGRAM),
];

/// A client that uses only HTTP/2 and resolves the app's host to the gateway.
fn http2(stage: &Stage) -> (Client, String) {
    let gateway: reqwest::Url = stage.world.server.gateway().parse().unwrap();
    let port = gateway.port().unwrap();
    let host = format!("{}.localhost", stage.app);
    let client = Client::builder().http2_prior_knowledge().resolve(&host, ([127, 0, 0, 1], port).into());
    (client.build().unwrap(), format!("http://{host}:{port}"))
}

/// Browsers send one cookie field per cookie over HTTP/2. Functions get a single field, as over
/// HTTP/1.1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cookie_of_a_request_over_http2_reaches_functions_of_every_runtime() {
    let stage = Stage::new("shop", &[], FILES);
    let work = stage.world.env.work_dir();
    let build = "mkdir -p bin && cc -O1 -o bin/server program.c";
    let built = Command::new("sh").args(["-c", build]).current_dir(&work).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    stage.deploy();
    let (client, url) = http2(&stage);
    for (path, expected) in [
        ("/event", "a=1|b=2|c=3"),
        ("/flask", "a=1|b=2|c=3"),
        ("/context", r#"{"a":"1","b":"2","c":"3"}"#),
        ("/program", "\r\ncookie: a=1; b=2; c=3\r\n"),
    ] {
        let mut asked = client.get(format!("{url}{path}"));
        for cookie in ["a=1", "b=2", "c=3"] {
            asked = asked.header("cookie", cookie);
        }
        let answer = asked.send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_2), "{path}");
        let body = answer.text().await.unwrap();
        assert!(body.contains(expected), "{path}: {body}");
        assert_eq!(body.to_lowercase().matches("cookie:").count(), usize::from(path == "/program"), "{path}: {body}");
    }
}

const FAILING: &[(&str, &str)] = &[
    (
        "milepost.yaml",
        "app: shop\nfunctions:\n  py: { env: python, src: py/ }\n  js: { env: node, src: js/ }\n  broken: { env: python, src: broken/ }\n\
         routes:\n  - GET /py/{how}: py\n  - GET /js/{how}: js\n  - GET /broken: broken\n",
    ),
    (
        "py/main.py",
        "from flask import request\n\ndef main():\n    how = request.view_args['how']\n    if how == 'throw':\n        raise ValueError('hunter2')\n\
         \n    def pieces():\n        yield 'a'\n        raise ValueError('hunter2')\n    return pieces()\n",
    ),
    (
        "js/index.mjs",
        "export default {\n  fetch(request) {\n    if (request.url.endsWith('throw')) throw new Error('hunter2');\n    let sent = false;\n\
         \u{20}   return new Response(new ReadableStream({ pull(c) { if (sent) { c.error(new Error('hunter2')); } else { sent = true; c.enqueue(new TextEncoder().encode('a')); } } }));\n  },\n};\n",
    ),
    ("broken/main.py", "raise RuntimeError('hunter2')\n"),
];

/// Anyone may call a function, so its error messages appear only in the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_text_of_an_exception_is_in_the_log_and_not_in_the_answer() {
    let stage = Stage::new("shop", &[], FAILING);
    stage.deploy_unchecked();
    for (path, status) in [("/py/throw", 500), ("/js/throw", 500), ("/broken", 503)] {
        for accept in ["*/*", "application/json", "text/html"] {
            let asked = stage.client.get(stage.url(path)).header("host", "shop.localhost").header("accept", accept);
            let answer = asked.send().await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{path}");
            let id = answer.headers()["milepost-request-id"].to_str().unwrap().to_owned();
            let body = answer.text().await.unwrap();
            for part in ["hunter2", "ValueError", "RuntimeError", "main.py", "index.mjs"] {
                assert!(!body.contains(part), "{path}: {body}");
            }
            assert!(body.contains(&format!("milepost logs --request {id}")), "{path}: {body}");
            let log = stage.log_of(&id);
            assert!(log.contains("hunter2"), "{path}: {log}");
        }
    }
    let tested = stage.world.run("function test py --path /py/throw");
    assert_eq!(tested.status, Some(1), "{}", tested.snapshot());
    assert!(!tested.stderr.is_empty(), "{}", tested.snapshot());
    let tested = stage.world.run("function test broken");
    assert!(tested.stderr.contains("hunter2"), "who may test a function is told: {}", tested.snapshot());
}

/// The status, the request id and everything sent before the break always arrive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_breaks_right_after_its_first_piece_has_a_head() {
    let stage = Stage::new("shop", &[], FAILING);
    stage.deploy_unchecked();
    for at in 0..40 {
        let path = if at % 2 == 0 { "/py/stream" } else { "/js/stream" };
        let asked = stage.client.get(stage.url(path)).header("host", "shop.localhost").send().await;
        let mut answer = asked.unwrap_or_else(|error| panic!("{path}, try {at}: {error:?}"));
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        assert!(answer.headers().contains_key("milepost-request-id"), "{path}");
        let mut sent = Vec::new();
        let cut = loop {
            match answer.chunk().await {
                Ok(Some(piece)) => sent.extend_from_slice(&piece),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert!(cut, "{path}: it looks complete");
        assert_eq!(sent, b"a", "{path}, try {at}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tested_function_reads_the_query_and_the_path_as_they_were_written() {
    let files = [
        ("milepost.yaml", "app: shop\nfunctions:\n  f: { env: python, src: f/ }\nroutes:\n  - GET /: f\n"),
        (
            "f/main.py",
            "from flask import request\n\ndef main():\n    return request.path + ' ' + '|'.join(f'{k}={v}' for k, v in request.args.items(multi=True))\n",
        ),
    ];
    let stage = Stage::new("shop", &[], &files);
    stage.deploy();
    let told = stage.world.env.run(&[
        "function",
        "test",
        "f",
        "--path",
        "/a b/\u{fc}",
        "--query",
        "a=b c",
        "--query",
        "b=x+y",
        "--query",
        "c=1#2",
        "--query",
        "d=1&e=2",
        "--query",
        "f=50% \u{2603}",
    ]);
    assert_eq!(told.success().trim_end(), "/a b/\u{fc} a=b c|b=x+y|c=1#2|d=1&e=2|f=50% \u{2603}");
}

/// Commands, manifests and specs refuse a route that the gateway could not serve.
#[test]
fn a_route_that_cannot_work_is_refused_by_every_command() {
    let manifest =
        |path: &str| format!("app: shop\nfunctions:\n  f: {{ env: python, src: f/ }}\nroutes:\n  - {path:?}: f\n");
    let sound = manifest("/ok");
    let files = [("milepost.yaml", sound.as_str()), ("f/main.py", "def main():\n    return 'f'\n")];
    let stage = Stage::new("shop", &[], &files);
    stage.deploy();
    for path in ["/any/{p*}", "/{}", "/{a:}", "/{a:[}", "/{a:)(}", "/any/*", "/.milepost/x"] {
        stage.world.env.write_file("milepost.yaml", manifest(path));
        let document = format!(
            "apiVersion: fission.io/v1\nkind: HTTPTrigger\nmetadata: {{ name: r }}\n\
             spec: {{ relativeurl: {path:?}, methods: [GET], functionref: {{ type: name, name: f }} }}\n"
        );
        stage.world.env.write_file("specs/route.yaml", document);
        for line in ["deploy", "deploy --dry-run", "spec version validate --specdir specs"] {
            let output = stage.world.run(line);
            assert_eq!(output.status, Some(2), "{line} with {path}: {}", output.snapshot());
            assert!(output.stderr.contains("cannot be used"), "{line} with {path}: {}", output.snapshot());
        }
        for more in [&[][..], &["--dry-run"], &["--prefix"]] {
            let args = [&["route", "create", "--name", "r", "--url", path, "--function", "f"][..], more].concat();
            let output = stage.world.env.run(&args);
            assert_ne!(output.status, Some(0), "{args:?}: {}", output.snapshot());
            assert!(output.stderr.contains("cannot be used"), "{args:?}: {}", output.snapshot());
        }
    }
}
