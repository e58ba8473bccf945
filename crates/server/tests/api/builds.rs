//! Builds over HTTP: concurrency, stored results, and cancellation.

use std::time::Duration;

use milepost_model::build::{BuildEvent, BuildState};
use milepost_model::spec::Runtime;
use milepost_model::{Digest, PlanName};
use milepost_testkit::eventually;
use reqwest::Method;
use serde_json::json;

use crate::building::{Gate, builder, builder_with, gone, let_go, next, request};
use crate::server::{TestServer, refused};

const COPY: &str = "cp -r $SRC_PKG $DEPLOY_PKG";
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn repeated_build_returns_the_stored_result() {
    let server = builder().await;
    let source = server.store(&[("main.py", "x = 1"), ("lib/a.py", "")]).await;
    let wanted = request(Runtime::Binary, source, "echo one; echo two >&2; cp -r $SRC_PKG $DEPLOY_PKG");
    let events = server.events(&wanted).await;
    let [BuildEvent::Started { id, command }, BuildEvent::Log { line }, BuildEvent::Log { line: second }, done] =
        events.as_slice()
    else {
        panic!("{events:#?}")
    };
    assert_eq!((command, line.as_str(), second.as_str()), (&wanted.command, "one", "two"));
    assert_eq!(*done, BuildEvent::Done { id: Some(id.clone()), deployment: source, cached: false });
    let again = BuildEvent::Done { id: Some(id.clone()), deployment: source, cached: true };
    assert_eq!(server.events(&wanted).await, [again]);

    let build = server.client.build_get("default", id).await.unwrap();
    assert_eq!(
        (build.state, build.deployment, build.started_by.as_str()),
        (BuildState::Succeeded, Some(source), "admin")
    );
    assert_eq!(server.log(id).await, "one\ntwo\n");
    let listed = server.client.build_list("default", 10, None).await.unwrap();
    assert_eq!(listed.items, [build]);
    eventually(PATIENCE, || async { server.build_folders() == 0 }).await;
}

#[tokio::test]
async fn variables_of_the_environment_are_not_part_of_a_result() {
    let server = builder().await;
    let source = server.store(&[("main.py", "x")]).await;
    let mut wanted = request(Runtime::Binary, source, COPY);
    server.events(&wanted).await;
    wanted.environment.variables.insert("COLOR".to_owned(), "red".to_owned());
    assert!(matches!(server.events(&wanted).await[..], [BuildEvent::Done { cached: true, .. }]));
    wanted.environment.builder = "make".to_owned();
    assert!(matches!(server.events(&wanted).await[0], BuildEvent::Started { .. }));
}

#[tokio::test]
async fn results_are_stored_per_app_and_command() {
    let server = builder().await;
    server.client.app_create(&"other".parse().unwrap(), PlanName::default()).await.unwrap();
    let source = server.store(&[("main.py", "x")]).await;
    let wanted = request(Runtime::Binary, source, COPY);
    server.events(&wanted).await;
    let other = server.client.build("other", &wanted).await.unwrap();
    let events: Vec<_> = futures::StreamExt::collect(other).await;
    assert!(matches!(&events[0], Ok(BuildEvent::Started { .. })), "{events:#?}");
    let events = server.events(&request(Runtime::Binary, source, &format!("true; {COPY}"))).await;
    assert!(matches!(&events[0], BuildEvent::Started { .. }), "{events:#?}");
}

#[tokio::test]
async fn source_is_the_result_without_a_command() {
    // This server cannot run commands.
    let server = TestServer::start().await;
    let source = server.store(&[("main.py", "x"), ("requirements.txt", "# nothing yet\n")]).await;
    let events = server.events(&request(Runtime::Python, source, "")).await;
    let [BuildEvent::Done { id: Some(id), deployment, cached: false }] = events.as_slice() else {
        panic!("{events:#?}")
    };
    assert_eq!(*deployment, source);
    assert_eq!(server.log(id).await, "");
    assert!(matches!(
        server.events(&request(Runtime::Python, source, "")).await[..],
        [BuildEvent::Done { cached: true, .. }]
    ));
}

#[tokio::test]
async fn rejects_oversized_requirements_without_a_command() {
    let server = TestServer::start().await;
    let large = "# nothing\n".repeat(500_000);
    let source = server.store(&[("requirements.txt", large.as_str())]).await;
    let events = server.events(&request(Runtime::Python, source, "")).await;
    let [BuildEvent::Failed { id: None, reason }] = events.as_slice() else { panic!("{events:#?}") };
    assert_eq!(
        reason,
        "`requirements.txt` has more than 4 MiB and is not read, so the build command is unknown; make it smaller, or give the \
         package a build command"
    );
    let events = server.events(&request(Runtime::Python, source, COPY)).await;
    assert!(matches!(&events[0], BuildEvent::Started { .. }), "{events:#?}");
}

#[tokio::test]
async fn keeps_installed_node_modules() {
    let server = TestServer::start().await;
    let package = "{\"dependencies\": {\"left-pad\": \"1\"}}";
    let source = server.store(&[("package.json", package), ("node_modules/left-pad/index.js", "")]).await;
    let events = server.events(&request(Runtime::Node, source, "")).await;
    assert!(matches!(events[..], [BuildEvent::Done { .. }]), "{events:#?}");
}

#[tokio::test]
async fn failed_build_keeps_its_log_and_can_be_retried() {
    let server = builder().await;
    let source = server.store(&[("main.py", "x")]).await;
    let wanted = request(Runtime::Binary, source, "echo almost; exit 2");
    let mut ids = Vec::new();
    for _ in 0..2 {
        let events = server.events(&wanted).await;
        let Some(BuildEvent::Failed { id: Some(id), reason }) = events.last() else { panic!("{events:#?}") };
        assert_eq!((events.len(), reason.as_str()), (3, "the command ended with exit code 2"));
        assert_eq!(server.log(id).await, "almost\n");
        let build = server.client.build_get("default", id).await.unwrap();
        assert_eq!((build.state, &build.reason, build.deployment), (BuildState::Failed, reason, None));
        ids.push(id.clone());
    }
    assert_ne!(ids[0], ids[1]);
    let stored = format!("/apps/default/builds/{}x", ids[0]);
    refused(server.ask(Method::GET, &stored), 404, "build_not_found").await;
}

#[tokio::test]
async fn stops_a_build_at_its_time_limit() {
    let server = builder_with(|settings| settings.builds.limit = Duration::from_secs(1)).await;
    let reason = server.reason("echo waiting for nothing; sleep 60").await;
    assert!(reason.starts_with("the build was stopped because it took longer than 1 second; "), "{reason}");
    let build = &server.client.build_list("default", 1, None).await.unwrap().items[0];
    assert_eq!(server.log(&build.id).await, "waiting for nothing\n");
}

#[tokio::test]
async fn third_concurrent_build_waits() {
    let server = builder().await;
    let gate = Gate::new().await;
    let mut running = Vec::new();
    let mut held = Vec::new();
    for name in ["a", "b"] {
        let source = server.store(&[("main.py", name)]).await;
        let mut events = server.building(&request(Runtime::Python, source, &gate.command(COPY))).await;
        assert!(matches!(next(&mut events).await, BuildEvent::Started { .. }));
        held.push(gate.arrival().await);
        running.push(events);
    }
    let source = server.store(&[("main.py", "c")]).await;
    let mut third = server.building(&request(Runtime::Python, source, COPY)).await;
    assert_eq!(next(&mut third).await, BuildEvent::Waiting);
    let_go(held.remove(0)).await;
    assert!(matches!(next(&mut third).await, BuildEvent::Started { .. }));
    assert!(matches!(next(&mut third).await, BuildEvent::Done { cached: false, .. }));
    let_go(held.remove(0)).await;
    for mut events in running {
        assert!(matches!(next(&mut events).await, BuildEvent::Done { .. }));
    }
}

#[tokio::test]
async fn concurrent_identical_builds_run_once() {
    let server = builder().await;
    let gate = Gate::new().await;
    let source = server.store(&[("main.py", "x")]).await;
    let wanted = request(Runtime::Python, source, &gate.command(COPY));
    let mut first = server.building(&wanted).await;
    let held = gate.arrival().await;
    let mut second = server.building(&wanted).await;
    assert_eq!(next(&mut second).await, BuildEvent::Waiting);
    let_go(held).await;
    assert!(matches!(next(&mut second).await, BuildEvent::Done { cached: true, .. }));
    assert!(matches!(next(&mut first).await, BuildEvent::Started { .. }));
    assert!(matches!(next(&mut first).await, BuildEvent::Done { cached: false, .. }));
}

#[tokio::test]
async fn closing_the_connection_cancels_the_build() {
    let server = builder_with(|settings| settings.builds.at_once = 1).await;
    let gate = Gate::new().await;
    let source = server.store(&[("main.py", "x")]).await;
    let wanted = request(Runtime::Python, source, &gate.command(COPY));
    let mut events = server.building(&wanted).await;
    assert!(matches!(next(&mut events).await, BuildEvent::Started { .. }));
    let held = gate.arrival().await;
    assert_eq!(server.build_folders(), 1);
    drop(events);
    tokio::time::timeout(PATIENCE, gone(held)).await.unwrap();
    eventually(PATIENCE, || async { server.build_folders() == 0 }).await;
    assert!(server.client.build_list("default", 10, None).await.unwrap().items.is_empty());
    // Its permit and its turn are free again.
    let mut again = server.building(&wanted).await;
    assert!(matches!(next(&mut again).await, BuildEvent::Started { .. }));
    let_go(gate.arrival().await).await;
    assert!(matches!(next(&mut again).await, BuildEvent::Done { .. }));
}

#[tokio::test]
async fn stopping_server_cancels_builds_and_reports_it() {
    let server = builder().await;
    let gate = Gate::new().await;
    let source = server.store(&[("main.py", "x")]).await;
    let mut events = server.building(&request(Runtime::Python, source, &gate.command(COPY))).await;
    assert!(matches!(next(&mut events).await, BuildEvent::Started { .. }));
    let held = gate.arrival().await;
    server.tell_to_stop();
    let reason = "the server is stopping".to_owned();
    assert_eq!(next(&mut events).await, BuildEvent::Failed { id: None, reason });
    gone(held).await;
    drop(events);
    let data = server.ended().await;
    let left: Vec<_> = std::fs::read_dir(data.path().join("run")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| entry.path().is_file()), "{left:?}");
}

#[tokio::test]
async fn rejects_a_missing_source() {
    let server = TestServer::start().await;
    let unknown = Digest::of(b"never sent");
    let body = json!(request(Runtime::Python, unknown, COPY));
    let ask = server.ask(Method::POST, "/apps/default/builds").json(&body);
    let problem = refused(ask, 409, "missing_blobs").await;
    assert!(problem.detail.contains("`pkg`") && problem.blockers == [unknown.to_string()], "{problem:?}");
}
