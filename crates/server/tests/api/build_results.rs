//! Build results: what commands leave, and how it is stored.

use std::io::Write;

use milepost_client::FunctionCall;
use milepost_model::build::BuildEvent;
use milepost_model::spec::Runtime;
use reqwest::Method;
use serde_json::json;

use crate::bodies::{function, static_item};
use crate::building::{builder, builder_with, request};
use crate::server::TestServer;

fn entry(path: &str, link: Option<&str>, executable: bool) -> (String, Option<String>, bool) {
    (path.to_owned(), link.map(str::to_owned), executable)
}

#[tokio::test]
async fn keeps_links_executable_bits_and_ignored_files() {
    let server = builder().await;
    let command = "mkdir $DEPLOY_PKG && cd $DEPLOY_PKG && echo x > run.sh && chmod +x run.sh && echo y > .hidden && \
                   mkdir node_modules && echo z > node_modules/z.js && ln -s node_modules/z.js z && \
                   echo node_modules/ > .gitignore && cp .gitignore .milepostignore";
    let made = server.made(&[("main.py", "x")], command).await;
    let expected = [
        entry(".gitignore", None, false),
        entry(".hidden", None, false),
        entry("node_modules/z.js", None, false),
        entry("run.sh", None, true),
        entry("z", Some("node_modules/z.js"), false),
    ];
    assert_eq!(made, expected);
}

#[tokio::test]
async fn unpacks_zips_and_renames_single_files() {
    let server = builder().await;
    let zip = "python3 -m zipfile -c out main.py lib && mv out $DEPLOY_PKG";
    let made = server.made(&[("main.py", "x"), ("lib/a.py", "a")], zip).await;
    assert_eq!(made, [entry("lib/a.py", None, false), entry("main.py", None, false)]);
    let made = server.made(&[("f.py", "x")], "cp f.py $DEPLOY_PKG").await;
    assert_eq!(made, [entry("main.py", None, false)]);
}

#[tokio::test]
async fn rejects_escaping_links_and_unusable_results() {
    let server = builder().await;
    let reason = server.reason("mkdir $DEPLOY_PKG && ln -s /etc/passwd $DEPLOY_PKG/users").await;
    assert!(reason.contains("`users`") && reason.contains("`/etc/passwd`"), "{reason}");
    let reason = server.reason("ln -s $SRC_PKG $DEPLOY_PKG").await;
    assert_eq!(reason, "$DEPLOY_PKG is a link; copy what it points at with `cp -r` instead");
    let reason = server.reason("mkdir $DEPLOY_PKG && mkfifo $DEPLOY_PKG/pipe").await;
    assert!(reason.contains("`$DEPLOY_PKG/pipe` is a named pipe"), "{reason}");
    let holes = "mkdir $DEPLOY_PKG && for name in a b c d e f; do truncate -s 1900M $DEPLOY_PKG/$name; done";
    let reason = server.reason(holes).await;
    assert!(reason.contains("the files in `$DEPLOY_PKG` have more than 10737418240 bytes"), "{reason}");
    let reason = server.reason("true").await;
    assert!(reason.starts_with("the command left nothing at $DEPLOY_PKG"), "{reason}");
}

#[tokio::test]
async fn does_not_follow_a_linked_ignore_file() {
    let server = builder().await;
    let secret = server.data().join("secret.key");
    let command = format!(
        "mkdir $DEPLOY_PKG && touch $DEPLOY_PKG/main.py && ln -s '{}' $DEPLOY_PKG/.milepostignore",
        secret.display()
    );
    let made = server.made(&[("main.py", "x")], &command).await;
    assert_eq!(made, [entry("main.py", None, false)]);
}

/// A wheel is a zip with some metadata files.
fn wheel() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let about = "greet-1.0.dist-info";
    for (path, text) in [
        ("greet/__init__.py".to_owned(), "def hello():\n    return 'hello from the wheel'\n"),
        (format!("{about}/METADATA"), "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n"),
        (format!("{about}/WHEEL"), "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        (format!("{about}/RECORD"), ""),
    ] {
        zip.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[tokio::test]
async fn installs_requirements_for_the_function() {
    let wheels = tempfile::tempdir().unwrap();
    std::fs::set_permissions(wheels.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(wheels.path().join("greet-1.0-py3-none-any.whl"), wheel()).unwrap();
    let server = builder_with(|settings| {
        let wheels = wheels.path().display().to_string();
        settings.builds.environment = [("PIP_NO_INDEX", "1".to_owned()), ("PIP_FIND_LINKS", wheels)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
    })
    .await;
    let main = "import greet\n\ndef main(request):\n    return greet.hello()\n";
    let source = server.store(&[("main.py", main), ("requirements.txt", "greet==1.0\n")]).await;
    let events = server.events(&request(Runtime::Python, source, "")).await;
    let Some(BuildEvent::Done { deployment, .. }) = events.last() else { panic!("{events:#?}") };
    server.change(&function("hello", *deployment)).await;
    let call = FunctionCall { method: "GET".to_owned(), path: "/".to_owned(), ..FunctionCall::default() };
    let mut answer = server.client.function_call("default", "hello", &call).await.unwrap();
    let body = answer.chunk().await.unwrap().unwrap_or_default();
    assert_eq!((answer.status, &body[..]), (200, &b"hello from the wheel"[..]));
}

#[tokio::test]
async fn dry_run_accepts_trees_that_are_not_uploaded() {
    let server = TestServer::start().await;
    let first = server.store(&[("index.html", "one")]).await;
    server.change(&static_item("site", first)).await;
    let mut plan = static_item("site", milepost_model::Digest::of(b"never sent"));
    plan["dryRun"] = json!(true);
    let (status, outcome) = server.send(Method::POST, "/apps/default/changes", &plan).await;
    assert_eq!(status, 200, "{outcome:#}");
    let reason = &outcome["versions"][0]["reasons"][0];
    assert_eq!((&reason["before"], &reason["files"]), (&json!(first), &json!([])), "{outcome:#}");
    // The change itself requires the tree.
    plan["dryRun"] = json!(false);
    let (status, _) = server.send(Method::POST, "/apps/default/changes", &plan).await;
    assert_eq!(status, 409);
}

#[tokio::test]
async fn system_reports_the_package_installer() {
    let server = TestServer::start().await;
    let facts = server.client.system().await.unwrap();
    let python = facts.runtimes.iter().find(|runtime| runtime.runtime == "python").unwrap();
    assert!(python.installer.as_ref().is_some_and(|installer| installer.starts_with("pip ")), "{python:?}");
}
