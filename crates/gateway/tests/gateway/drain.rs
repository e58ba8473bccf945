use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milepost_gateway::{Limits, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::support::*;

const WAIT: &str = "GET /wait HTTP/1.1\r\nhost: shop.localhost\r\n\r\n";

fn waiting(settings: Settings) -> (World, Arc<Semaphore>) {
    let world = World::with(settings);
    let gate = Arc::new(Semaphore::new(0));
    let tree = world.memory.tree(&[("a.txt", "hello")]);
    world.shop(vec![mount("/", tree)], vec![route("", "/wait", &public(Fake::Wait(gate.clone())))]);
    (world, gate)
}

#[tokio::test]
async fn running_requests_are_answered_before_shutdown() {
    let (world, gate) = waiting(Settings::default());
    let served = world.serve().await;
    let mut busy = served.connect().await;
    busy.write_all(WAIT.as_bytes()).await.expect("sent");
    let mut idle = served.connect().await;
    idle.write_all(b"GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
    read_answer(&mut idle).await;
    while world.gateway.stats().connections < 2 {
        tokio::task::yield_now().await;
    }
    // In the backlog, or accepted but silent: its request is on its way.
    let mut late = served.connect().await;
    served.stop.cancel();
    late.write_all(b"GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
    let answer = read_to_close(&mut late).await;
    assert!(answer.ends_with("hello") && answer.contains("connection: close\r\n"), "{answer}");
    // The idle connection is closed, and new ones are not accepted.
    assert_eq!(soon(idle.read(&mut [0; 16])).await.expect("it is closed"), 0);
    assert!(!served.done.is_finished());
    assert!(TcpStream::connect(served.address).await.is_err());
    gate.add_permits(1);
    let answer = read_to_close(&mut busy).await;
    assert!(answer.ends_with("waited") && answer.contains("connection: close\r\n"), "{answer}");
    soon(served.done).await.expect("it ends");
}

#[tokio::test]
async fn requests_are_cut_at_the_drain_deadline() {
    let limits = Limits { drain: Duration::from_millis(200), ..Limits::default() };
    let (world, _gate) = waiting(Settings { limits, ..Settings::default() });
    let served = world.serve().await;
    let mut busy = served.connect().await;
    busy.write_all(WAIT.as_bytes()).await.expect("sent");
    while world.gateway.stats().connections < 1 {
        tokio::task::yield_now().await;
    }
    served.stopped().await;
    assert_eq!(read_to_close(&mut busy).await, "");
}

#[tokio::test]
async fn shutdown_waits_briefly_for_the_rest_of_a_head() {
    let limits = Limits { drain_head: Duration::from_millis(500), ..Limits::default() };
    let (world, _gate) = waiting(Settings { limits, ..Settings::default() });
    let served = world.serve().await;
    let [mut slow, mut silent] = [served.connect().await, served.connect().await];
    for stream in [&mut slow, &mut silent] {
        stream.write_all(b"GET /a.txt HTTP/1.1\r\nhost: shop").await.expect("sent");
    }
    while world.gateway.stats().connections < 2 {
        tokio::task::yield_now().await;
    }
    served.stop.cancel();
    slow.write_all(b".localhost\r\n\r\n").await.expect("sent");
    let answer = read_to_close(&mut slow).await;
    assert!(answer.ends_with("hello"), "{answer}");
    assert_eq!(read_to_close(&mut silent).await, "");
    soon(served.done).await.expect("it ends");
}

#[tokio::test]
async fn aborting_the_drain_cuts_all_connections() {
    let (world, _gate) = waiting(Settings::default());
    let served = world.serve().await;
    let mut busy = served.connect().await;
    busy.write_all(WAIT.as_bytes()).await.expect("sent");
    while world.gateway.stats().connections < 1 {
        tokio::task::yield_now().await;
    }
    served.stop.cancel();
    served.done.abort();
    assert_eq!(read_to_close(&mut busy).await, "");
}

/// Each client uses one connection until a response says `connection: close`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_under_load_cuts_no_request() {
    let (world, _gate) = waiting(Settings::default());
    let served = world.serve().await;
    let address = served.address;
    let stopping = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..16)
        .map(|_| {
            let stopping = stopping.clone();
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.expect("it connects");
                let mut answered = 0;
                loop {
                    stream.write_all(b"GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
                    let answer = read_answer(&mut stream).await;
                    assert!(answer.ends_with("hello"), "{answer}");
                    answered += 1;
                    if answer.contains("connection: close") {
                        assert!(stopping.load(Ordering::SeqCst), "closed before the stop");
                        return answered;
                    }
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    stopping.store(true, Ordering::SeqCst);
    served.stopped().await;
    let mut all = 0;
    for client in clients {
        all += soon(client).await.expect("no request was cut");
    }
    assert!(all > 16, "{all}");
}
