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
async fn a_request_that_runs_is_answered_before_the_end() {
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
    // Here, but not accepted yet, or accepted and silent: its request is on its way.
    let mut late = served.connect().await;
    served.stop.cancel();
    late.write_all(b"GET /a.txt HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
    let answer = read_to_close(&mut late).await;
    assert!(answer.ends_with("hello") && answer.contains("connection: close\r\n"), "{answer}");
    // The idle one is told to go, and the new one is not let in.
    assert_eq!(soon(idle.read(&mut [0; 16])).await.expect("it is closed"), 0);
    assert!(!served.done.is_finished());
    assert!(TcpStream::connect(served.address).await.is_err());
    gate.add_permits(1);
    let answer = read_to_close(&mut busy).await;
    assert!(answer.ends_with("waited") && answer.contains("connection: close\r\n"), "{answer}");
    soon(served.done).await.expect("it ends");
}

#[tokio::test]
async fn what_does_not_end_is_cut_at_the_deadline() {
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
async fn half_a_head_holds_up_the_end_for_a_moment_and_its_other_half_is_waited_for() {
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
async fn whoever_gives_up_waiting_for_the_end_cuts_what_is_left() {
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

/// Clients that use one connection until they are told that it was the last request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_cut_when_the_gateway_stops_under_load() {
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
                        assert!(stopping.load(Ordering::SeqCst), "told to go before the stop");
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
