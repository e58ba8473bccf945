//! Where routes may answer, and what their functions receive.

use reqwest::header::HOST;

use crate::stage::{Stage, get};

const FILES: &[(&str, &str)] = &[
    (
        "milepost.yaml",
        "app: shop
functions:
  wsgi: { env: python, src: wsgi/, entrypoint: main.app }
  asgi: { env: python, src: asgi/, entrypoint: main.app }
  plain: { env: python, src: plain/ }
routes:
  - /wsgi: { function: wsgi, prefix: true, strip: true }
  - /asgi: { function: asgi, prefix: true, strip: true }
  - /plain: { function: plain, prefix: true, strip: true }
  - /whole: { function: wsgi, prefix: true }
",
    ),
    (
        "wsgi/main.py",
        "def app(environ, start_response):
    start_response('200 OK', [('content-type', 'text/plain')])
    return ['|'.join(environ.get(key, '-') for key in ('SCRIPT_NAME', 'PATH_INFO', 'REQUEST_URI')).encode()]
",
    ),
    (
        "asgi/main.py",
        "async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        return
    body = '|'.join((scope['root_path'], scope['path'], scope['raw_path'].decode())).encode()
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': body})
",
    ),
    (
        "plain/main.py",
        "from flask import request

def main():
    return '|'.join((request.script_root, request.path, request.base_url))
",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_stripped_prefix_is_where_frameworks_look_for_it() {
    let stage = Stage::new("shop", &[], FILES);
    stage.deploy();
    for (path, expected) in [
        ("/wsgi/a%20b?x=1", "/wsgi|/a b|/wsgi/a%20b?x=1"),
        ("/wsgi", "/wsgi|/|/wsgi/"),
        ("/asgi/a%20b?x=1", "/asgi|/asgi/a b|/asgi/a%20b"),
        ("/plain/login", "/plain|/login|http://shop.localhost/plain/login"),
        ("/whole/login", "|/whole/login|/whole/login"),
    ] {
        let got = stage.get(path).await;
        assert_eq!((got.status, got.body.as_str()), (200, expected), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_for_a_host_that_does_not_lead_to_its_app_is_refused_by_every_command() {
    let manifest =
        "app: shop\nfunctions:\n  f: { env: python, src: f/ }\nroutes:\n  - GET /: { function: f, host: HOST }\n";
    let stage = Stage::new("shop", &[], &[("f/main.py", "def main():\n    return 'f'\n")]);
    let env = &stage.world.env;
    let with = |host: &str| env.write_file("milepost.yaml", manifest.replace("HOST", host));
    stage.world.ok("app create shop");
    with("www.example.org");
    for line in ["deploy --dry-run", "deploy"] {
        let refused = stage.world.run(line);
        assert!(!refused.succeeded(), "{}", refused.snapshot());
        for said in ["`www.example.org` does not lead to app `shop`", "`shop.localhost`", "`TAG--shop.localhost`"] {
            assert!(refused.stderr.contains(said), "{said}: {}", refused.snapshot());
        }
    }
    with("Shop.localhost");
    stage.deploy();
    assert_eq!(stage.get("/").await.body, "f");
    let elsewhere = get(&stage.client, &stage.url("/"), "shop.live").await.unwrap();
    assert_eq!(elsewhere.status, 404, "a host is compared as a whole");
    stage.world.ok("route create --url /tagged --function f --host good--shop.localhost");
    for host in ["other.localhost", "shop.localhost:8080", "shop.example.org", "'*'"] {
        let refused = stage.world.run(&format!("route create --url /x --function f --host {host}"));
        assert!(refused.stderr.contains("does not lead to app `shop`"), "{}", refused.snapshot());
    }
    let specs = SPECS.replacen("  relativeURL:", "  host: www.example.org\n  relativeURL:", 1);
    env.write_file("specs/all.yaml", specs);
    let refused = stage.world.run("spec version apply");
    assert!(refused.stderr.contains("`www.example.org` does not lead to app `shop`"), "{}", refused.snapshot());
}

/// The literal is
/// ```python
/// from flask import request
///
/// def main():
///     return request.path + ' ' + request.headers.get('X-Fission-Params-id', '-')
/// ```
const SPECS: &str = r#"
apiVersion: fission.io/v1
kind: Package
metadata: { name: tell }
Spec:
  Environment: { name: python }
  deployment: { type: literal, literal: ZnJvbSBmbGFzayBpbXBvcnQgcmVxdWVzdAoKZGVmIG1haW4oKToKICAgIHJldHVybiByZXF1ZXN0LnBhdGggKyAnICcgKyByZXF1ZXN0LmhlYWRlcnMuZ2V0KCdYLUZpc3Npb24tUGFyYW1zLWlkJywgJy0nKQo= }
---
apiVersion: fission.io/v1
kind: Function
metadata: { name: tell }
spec:
  environment: { name: python }
  package: { PackageRef: { name: tell }, functionname: main.main }
---
apiVersion: fission.io/v1
kind: HTTPTrigger
Metadata: { Name: guest }
spec:
  relativeURL: /guests/{id}
  FunctionRef: { type: name, name: tell }
---
apiVersion: fission.io/v1
kind: HTTPTrigger
metadata: { name: files }
spec:
  prefix: /files
  functionref: { type: name, name: tell }
---
apiVersion: fission.io/v1
kind: HTTPTrigger
metadata: { name: kept }
spec:
  prefix: /kept
  keepprefix: true
  functionref: { type: name, name: tell }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_fission_specs_get_paths_and_variables_as_from_its_router() {
    let stage = Stage::new("shop", &[], &[]);
    stage.world.env.write_file("specs/all.yaml", SPECS);
    stage.world.ok("app create shop");
    stage.world.ok("spec version apply");
    for (path, expected) in
        [("/guests/42", "/ 42"), ("/files/a/b", "/a/b -"), ("/files", "/ -"), ("/kept/a", "/kept/a -")]
    {
        let url = stage.url(path);
        let asked = stage.client.get(url).header(HOST, "shop.localhost").header("x-fission-params-id", "forged");
        let asked = if path.starts_with("/guests") { asked } else { asked.header("x-fission-params-more", "x") };
        let got = asked.send().await.unwrap().text().await.unwrap();
        assert_eq!(got, expected, "{path}");
    }
    // The same as a manifest.
    stage.world.ok("import");
    assert_eq!(stage.world.ok("deploy"), "Everything up to date.\n");
}
