use std::collections::BTreeMap;

use milepost_testkit::postgres;
use reqwest::header::HOST;

use crate::stage::Stage;

const MANIFEST: &str = r#"
app: shop
functions:
  show: { env: python, src: show/, vars: { MODE: one }, secrets: [TOKEN] }
secrets: [TOKEN]
config: { word: one, list: [1, 2.50, "drei"] }
static:
  - { src: site, path: /site, error: 404.html, clean: true }
routes:
  - GET,POST /show/{id}: show
  - /api: { function: show, prefix: true, strip: true }
"#;
const SHOW: &str = r#"
import json, os, milepost

def main(request):
    seen = {
        "config": milepost.config, "secret": milepost.secret("TOKEN"), "mode": os.environ["MODE"],
        "version": os.environ["MILEPOST_VERSION"], "files": sorted(os.listdir(".")), "data": open("data.txt").read(),
        "path": request.path, "method": request.method,
    }
    return json.dumps(seen), 203, {"x-word": "one"}
"#;
const PATHS: [&str; 7] =
    ["/show/7?x=1", "/api/login", "/site/", "/site/page", "/site/page.html", "/site/bytes.bin", "/site/none"];
/// Headers that differ between two requests, or name the release.
const OWN_HEADERS: [&str; 3] = ["date", "milepost-request-id", "milepost-release"];

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// The responses of a release to all paths.
async fn responses(stage: &Stage, release: &str) -> BTreeMap<&'static str, Seen> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let mut all = BTreeMap::new();
    for path in PATHS {
        let host = format!("shop.{release}.localhost");
        let response = client.get(stage.url(path)).header(HOST, host).send().await.unwrap();
        let headers = response.headers().iter().filter(|(name, _)| !OWN_HEADERS.contains(&name.as_str()));
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        let status = response.status().as_u16();
        all.insert(path, Seen { status, headers, body: response.bytes().await.unwrap().to_vec() });
    }
    all
}

fn write(stage: &Stage, word: &str) {
    let env = &stage.world.env;
    let other = |text: &str| text.replace("one", word);
    env.write_file("milepost.yaml", other(MANIFEST));
    env.write_file("show/main.py", other(SHOW));
    env.write_file("show/data.txt", word);
    env.write_file(&format!("show/only-{word}.txt"), "");
    env.write_file("site/page.html", format!("<h1>{word}</h1>"));
    env.write_file("site/404.html", format!("no page {word}"));
    env.write_file("site/bytes.bin", word.bytes().cycle().take(300_000).collect::<Vec<u8>>());
}

/// Sets the secret and deploys. Returns the app version and the release.
fn deploy(stage: &Stage, word: &str) -> (String, String) {
    stage.world.env.write_file("token.txt", format!("secret {word}"));
    stage.world.ok("secret set TOKEN --from-file token.txt --no-release");
    write(stage, word);
    let outcome = stage.world.json("deploy --overwrite");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    (text(&outcome["appVersion"]), text(&outcome["release"]["id"]))
}

async fn serves_the_same_bytes(args: &[&str]) {
    let mut stage = Stage::new("shop", args, &[]);
    let (app_version, first) = deploy(&stage, "one");
    let before = responses(&stage, &first).await;
    let statuses: Vec<u16> = PATHS.iter().map(|path| before[path].status).collect();
    assert_eq!(statuses, [203, 203, 404, 200, 308, 200, 404], "{before:#?}");
    deploy(&stage, "two");
    deploy(&stage, "three");
    stage.world.ok("function version update show --memory 64Mi");
    stage.world.ok(&format!("release expire {first}"));
    stage.world.ok("storage sweep");
    // A restart drops everything that is kept in memory.
    stage.world.server.kill9();
    stage.world.server.restart();
    let again = stage.world.json(&format!("release create {app_version}"));
    let again = again["id"].as_str().or_else(|| again["release"]["id"].as_str()).unwrap().to_owned();
    assert_ne!(again, first);
    let after = responses(&stage, &again).await;
    for path in PATHS {
        assert_eq!(after[path], before[path], "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invariant_3_a_release_made_again_serves_the_same_bytes_on_sqlite() {
    serves_the_same_bytes(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invariant_3_a_release_made_again_serves_the_same_bytes_on_postgres() {
    let database = tokio::task::spawn_blocking(postgres::database).await.unwrap();
    serves_the_same_bytes(&["--database", &database.url]).await;
}
