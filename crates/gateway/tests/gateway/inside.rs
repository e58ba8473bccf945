use milepost_gateway::{Limits, Listener, Settings};
use milepost_model::spec::FunctionPermission;
use tokio::io::AsyncWriteExt;

use crate::support::*;

/// Every program on the machine can connect to the listener for calls between functions.
#[tokio::test]
async fn inside_listener_requires_a_genuine_call_token() {
    let world = World::new();
    let internal = target("hidden", Fake::Tell, FunctionPermission::Internal);
    let routes = vec![route("", "/open", &public(Fake::Tell)), route("", "/hidden", &internal)];
    world.shop(vec![mount("/", world.memory.tree(&[("a.txt", "hello")]))], routes);
    let served = world.serve_on(Listener::inside).await;
    let paths = ["/a.txt", "/open", "/hidden", "/.milepost/call/hidden/x", "/.milepost/health", "/none"];
    for path in paths {
        for token in ["", "milepost-call: forged\r\n", "authorization: Bearer invoker-of-shop\r\n"] {
            let asked = format!("GET {path} HTTP/1.1\r\nhost: shop.localhost\r\n{token}connection: close\r\n\r\n");
            let answer = served.raw(asked).await;
            assert!(answer.starts_with("HTTP/1.1 401 "), "{path} {token}: {answer}");
            assert!(answer.contains("call token"), "{path} {token}: {answer}");
        }
    }
    let mut stream = served.connect().await;
    for path in ["/a.txt", "/open", "/hidden", "/.milepost/call/hidden/x", "/.milepost/health"] {
        let asked = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nmilepost-call: call:shop:r1\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.expect("sent");
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
    served.stopped().await;
}

/// A function that is running during shutdown may still call others: the inside listener is stopped
/// separately.
#[tokio::test]
async fn inside_listener_stays_open_while_the_public_one_drains() {
    let world = World::new();
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    world.shop(
        vec![],
        vec![route("", "/wait", &public(Fake::Wait(gate.clone()))), route("", "/f", &public(Fake::Tell))],
    );
    let outer = world.serve().await;
    let inner = world.serve_on(Listener::inside).await;
    let mut busy = outer.connect().await;
    busy.write_all(b"GET /wait HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
    while world.gateway.stats().connections < 1 {
        tokio::task::yield_now().await;
    }
    outer.stop.cancel();
    let called = "GET /f HTTP/1.1\r\nhost: x\r\nmilepost-call: call:shop:r1\r\n\r\n";
    assert!(inner.raw(called).await.starts_with("HTTP/1.1 200 "));
    gate.add_permits(1);
    assert!(read_to_close(&mut busy).await.ends_with("waited"));
    soon(outer.done).await.expect("it ends");
    inner.stopped().await;
}

#[tokio::test]
async fn listeners_have_separate_connection_limits() {
    let limits = Limits { connections: 1, inside_connections: 1, ..Limits::default() };
    let world = World::with(Settings { limits, ..Settings::default() });
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let routes = vec![route("", "/f", &public(Fake::Tell)), route("", "/wait", &public(Fake::Wait(gate.clone())))];
    world.shop(vec![], routes);
    let doors = [world.serve().await, world.serve_on(Listener::inside).await];
    let asked =
        |path: &str| format!("GET {path} HTTP/1.1\r\nhost: shop.localhost\r\nmilepost-call: call:shop:r1\r\n\r\n");
    let mut kept = Vec::new();
    for door in &doors {
        let mut stream = door.connect().await;
        stream.write_all(asked("/f").as_bytes()).await.expect("sent");
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        stream.write_all(asked("/wait").as_bytes()).await.expect("sent");
        kept.push(stream);
    }
    world.waiting(2).await;
    for door in &doors {
        let refused = refused(door).await;
        assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    }
    assert_eq!(world.gateway.stats().connections, 2);
    gate.add_permits(2);
    for stream in &mut kept {
        assert!(read_answer(stream).await.ends_with("waited"));
    }
    drop(kept);
    for door in doors {
        door.stopped().await;
    }
}

/// All functions call from loopback, so the address does not tell apps apart: each app has a share.
#[tokio::test]
async fn one_app_cannot_fill_the_inside_listener() {
    let limits = Limits { inside_connections: 16, ..Limits::default() };
    let world = World::with(Settings { limits, ..Settings::default() });
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    world.shop(vec![], vec![route("", "/wait", &public(Fake::Wait(gate.clone())))]);
    let served = world.serve_on(Listener::inside).await;
    let mut kept = Vec::new();
    for calls in 1..=16 {
        let mut stream = served.connect().await;
        let asked = "GET /wait HTTP/1.1\r\nhost: x\r\nmilepost-call: call:shop:r1\r\n\r\n";
        stream.write_all(asked.as_bytes()).await.expect("sent");
        world.waiting(calls).await;
        kept.push(stream);
    }
    for _ in 0..20 {
        let asked = "GET / HTTP/1.1\r\nhost: x\r\nmilepost-call: call:blog:r1\r\nconnection: close\r\n\r\n";
        let answer = served.raw(asked).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    }
    assert!(world.gateway.stats().connections >= 14, "its share stays");
    gate.add_permits(16);
    drop(kept);
    served.stopped().await;
}
