//! Full listeners, over real sockets.

use std::sync::Arc;

use milepost_gateway::{Limits, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::support::*;

const GET: &str = "GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\n\r\n";
const WAIT: &str = "GET /wait HTTP/1.1\r\nhost: shop.localhost\r\n\r\n";

fn world(connections: usize) -> (World, Arc<Semaphore>) {
    let limits = Limits { connections, ..Limits::default() };
    let world = World::with(Settings { limits, ..Settings::default() });
    let gate = Arc::new(Semaphore::new(0));
    let mounts = vec![mount("/", world.memory.tree(&[("a.txt", "hello")]))];
    world.shop(mounts, vec![route("", "/wait", &public(Fake::Wait(gate.clone())))]);
    (world, gate)
}

async fn ask(stream: &mut TcpStream) {
    stream.write_all(GET.as_bytes()).await.expect("sent");
    assert!(read_answer(stream).await.ends_with("hello"));
}

#[tokio::test]
async fn full_listener_closes_the_longest_idle_connection() {
    let (world, gate) = world(3);
    let served = world.serve().await;
    let (mut first, mut second, mut third) = (served.connect().await, served.connect().await, served.connect().await);
    for stream in [&mut first, &mut second, &mut third] {
        ask(stream).await;
    }
    // Now the second connection is busy, and the third has been idle for longer than the first.
    second.write_all(WAIT.as_bytes()).await.expect("sent");
    world.waiting(1).await;
    ask(&mut first).await;
    let mut fourth = served.connect().await;
    ask(&mut fourth).await;
    assert_eq!(soon(third.read(&mut [0; 8])).await.expect("it ends well"), 0, "it was closed");
    ask(&mut first).await;
    gate.add_permits(1);
    assert!(read_answer(&mut second).await.ends_with("waited"));
    assert!(world.gateway.stats().connections <= 3);
    drop((first, second, fourth));
    served.stopped().await;
}

#[tokio::test]
async fn listener_full_of_busy_connections_responds_503() {
    let (world, gate) = world(2);
    let served = world.serve().await;
    let mut busy = [served.connect().await, served.connect().await];
    for stream in &mut busy {
        ask(stream).await;
        stream.write_all(WAIT.as_bytes()).await.expect("sent");
    }
    world.waiting(2).await;
    let refused = refused(&served).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    gate.add_permits(2);
    for stream in &mut busy {
        assert!(read_answer(stream).await.ends_with("waited"));
    }
    assert!(served.raw(GET.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")).await.ends_with("hello"));
    drop(busy);
    served.stopped().await;
}

/// A partial head does not count as a request: slow senders give way to new connections.
#[tokio::test]
async fn connections_without_a_complete_request_are_evicted() {
    let (world, _gate) = world(8);
    let served = world.serve().await;
    let mut silent = Vec::new();
    for turn in 0..100 {
        let mut stream = served.connect().await;
        if turn % 2 == 0 {
            stream.write_all(b"GET /a.txt HTTP/1.1\r\nhost: ").await.expect("sent");
        }
        silent.push(stream);
        if turn % 10 == 0 {
            let mut stream = served.connect().await;
            ask(&mut stream).await;
        }
    }
    served.stopped().await;
}
