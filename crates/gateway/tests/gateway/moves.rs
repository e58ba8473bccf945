use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::*;

const MOVES: i64 = 1_000;

/// Invariant 6: moving live between two releases under load fails no request, and no response mixes
/// both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_under_load_fail_no_request() {
    let world = World::new();
    let releases = ["red", "blue"].map(|id| {
        let files = mount("/", world.memory.tree(&[("file", id)]));
        let tell = public(Fake::Answer(Box::new(move || http::Response::new(full(id)))));
        release(id, vec![files], vec![route("", "/function", &tell)])
    });
    let view = |event: i64| {
        let live = &releases[(event % 2) as usize];
        app("shop", event, std::slice::from_ref(live))
    };
    let directory = world.gateway.directory().clone();
    directory.publish(view(0));
    let served = world.serve().await;
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> =
        (0..8).map(|number| tokio::spawn(hammer(served.address, number % 2 == 0, stop.clone()))).collect();

    let mut stream = served.connect().await;
    for event in 1..=MOVES {
        assert!(directory.publish(view(event)));
        // After the move returned, the next request sees it.
        stream.write_all(ask("/file").as_bytes()).await.expect("sent");
        let answer = read_answer(&mut stream).await;
        assert!(answer.ends_with(&*releases[(event % 2) as usize].id), "{event}: {answer}");
    }
    stop.store(true, Ordering::SeqCst);
    let mut seen = [0, 0];
    for client in clients {
        let (red, blue) = soon(client).await.expect("no request failed");
        seen = [seen[0] + red, seen[1] + blue];
    }
    assert!(seen[0] > 0 && seen[1] > 0, "both were seen: {seen:?}");
    drop(stream);
    served.stopped().await;
}

fn ask(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: shop.localhost\r\n\r\n")
}

async fn hammer(address: std::net::SocketAddr, file: bool, stop: Arc<AtomicBool>) -> (u32, u32) {
    let mut stream = TcpStream::connect(address).await.expect("it connects");
    let request = ask(if file { "/file" } else { "/function" });
    let mut seen = (0, 0);
    while !stop.load(Ordering::SeqCst) {
        stream.write_all(request.as_bytes()).await.expect("sent");
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        assert!(head.contains(&format!("milepost-release: {body}")), "the head and the body differ: {answer}");
        match body {
            "red" => seen.0 += 1,
            "blue" => seen.1 += 1,
            other => panic!("{other}"),
        }
    }
    seen
}
