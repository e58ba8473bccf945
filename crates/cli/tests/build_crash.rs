//! A server killed during a build leaves nothing that the next start does not remove.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::World;
use futures::{Stream, StreamExt};
use milepost_client::source::{Source, SourceOptions};
use milepost_model::build::{BuildEvent, BuildRequest};
use milepost_model::spec::EnvironmentSpec;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

#[test]
fn a_server_killed_during_a_build_leaves_nothing_after_its_restart() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut world = World::on_machine_time();
    world.env.write_file("src/main.py", "x = 1\n");
    let source = Arc::new(Source::open(&world.env.work_dir().join("src"), &SourceOptions::default(), None).unwrap());
    let root = source.root().unwrap();
    let gate = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = gate.local_addr().unwrap().port();
    let held_up = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port})).recv(1)'");
    let request = BuildRequest {
        package: "pkg".parse().unwrap(),
        source: root,
        environment: EnvironmentSpec::built_in("python").unwrap(),
        command: format!("{held_up}; cp -r $SRC_PKG $DEPLOY_PKG"),
    };
    let client = world.client();
    runtime.block_on(client.upload("default", source, |_| {}, Arc::new(|_| {}))).unwrap();
    let mut events = Box::pin(runtime.block_on(client.build("default", &request)).unwrap());
    let first = runtime.block_on(events.next()).unwrap().unwrap();
    assert!(matches!(first, BuildEvent::Started { .. }), "{first:?}");
    let mut held = runtime.block_on(async {
        tokio::select! {
            held = gate.accept() => held.unwrap().0,
            // A build that cannot begin, for example because the disk is full, never connects.
            end = end(&mut events) => panic!("the build ended by itself: {end:?}"),
        }
    });
    let run = world.env.data_dir().join("run");
    assert_eq!(rooms(&run), 1);

    world.server.kill9();
    assert!(runtime.block_on(events.next()).unwrap().is_err(), "a stream that was cut off is no result");
    // The connection ends with the process that held it.
    let _ = runtime.block_on(held.read(&mut [0]));
    world.server.restart();
    assert_eq!(rooms(&run), 0);
    assert_eq!(fs::read_dir(&run).unwrap().flatten().filter(|entry| entry.path().is_dir()).count(), 1);
    let builds = runtime.block_on(world.client().build_list("default", 10, None)).unwrap();
    assert!(builds.items.is_empty(), "{builds:?}");
}

/// Returns what the events of a build end with.
async fn end<E>(events: &mut (impl Stream<Item = Result<BuildEvent, E>> + Unpin)) -> Option<Result<BuildEvent, E>> {
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    last
}

/// Build folders of all servers.
fn rooms(run: &Path) -> usize {
    let servers = fs::read_dir(run).unwrap().flatten();
    servers.filter_map(|server| fs::read_dir(server.path().join("build")).ok()).map(Iterator::count).sum()
}
