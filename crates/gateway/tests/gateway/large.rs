use std::time::Duration;

use milepost_gateway::{FileRef, FileTree, Limits, Settings};
use milepost_model::Digest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

const FIVE_GIB: u64 = 5 << 30;

fn with_zeros(settings: Settings) -> World {
    let world = World::with(settings);
    let file = FileRef { digest: Digest::of(b"zeros"), size: FIVE_GIB, pack: ZEROS, offset: 0 };
    let tree = FileTree::new([("zeros.bin".into(), file)]);
    world.shop(vec![mount("/", tree.into())], vec![]);
    world
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("linux");
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
    pages * 4096
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    String::from_utf8(head).expect("a head is text")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_five_gibibytes_with_flat_memory() {
    let world = with_zeros(Settings::default());
    let served = world.serve().await;
    let mut stream = served.connect().await;
    stream.write_all(b"GET /zeros.bin HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
    let head = head(&mut stream).await;
    assert!(head.contains(&format!("content-length: {FIVE_GIB}\r\n")), "{head}");
    let before = resident_bytes();
    let (mut left, mut most) = (FIVE_GIB, 0);
    let mut buffer = vec![0; 1 << 20];
    while left > 0 {
        let length = soon(stream.read(&mut buffer)).await.expect("it goes on");
        assert!(length > 0, "{left} bytes are missing");
        left -= length as u64;
        if left % 64 == 0 {
            most = most.max(resident_bytes());
        }
    }
    let grown = resident_bytes().max(most).saturating_sub(before);
    assert!(grown < 32 << 20, "it grew by {grown} bytes");
    // The connection serves another request, here for the last bytes.
    let range = format!("bytes={}-", FIVE_GIB - 5);
    let request = format!("GET /zeros.bin HTTP/1.1\r\nhost: shop.localhost\r\nrange: {range}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let answer = read_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 206") && answer.ends_with("\0\0\0\0\0"), "{answer}");
    drop(stream);
    served.stopped().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_clients_hold_no_memory_and_time_out() {
    let limits = Limits { body_timeout: Duration::from_millis(300), ..Limits::default() };
    let world = with_zeros(Settings { limits, ..Settings::default() });
    let served = world.serve().await;
    let before = resident_bytes();
    let mut clients = Vec::new();
    for _ in 0..50 {
        let mut stream = served.connect().await;
        stream.write_all(b"GET /zeros.bin HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
        head(&mut stream).await;
        clients.push(stream);
    }
    soon(async {
        while world.gateway.stats().connections > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "it grew by {grown} bytes");
    served.stopped().await;
}

#[tokio::test]
async fn disconnecting_client_ends_the_stream() {
    let world = with_zeros(Settings::default());
    let served = world.serve().await;
    let mut stream = served.connect().await;
    stream.write_all(b"GET /zeros.bin HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await.expect("sent");
    head(&mut stream).await;
    drop(stream);
    soon(async {
        while world.gateway.stats().connections > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    served.stopped().await;
}
