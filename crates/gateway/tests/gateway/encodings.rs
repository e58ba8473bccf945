use std::io::Read;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use milepost_gateway::{FileTree, Settings};

use crate::support::*;

fn words(count: usize) -> String {
    (0..count).map(|number| format!("word {} and ", number * 7919 % 1000)).collect()
}

fn gunzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).expect("it is gzip");
    text
}

fn unbrotli(bytes: &[u8]) -> String {
    let mut text = String::new();
    brotli::Decompressor::new(bytes, 4096).read_to_string(&mut text).expect("it is brotli");
    text
}

fn in_folder(folder: &tempfile::TempDir) -> World {
    World::with(Settings { cache_folder: Some(folder.path().to_owned()), ..Settings::default() })
}

#[tokio::test]
async fn serves_the_accepted_encoding() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = in_folder(&folder);
    let text = words(1000);
    world.files(&[("a.js", &text), ("tiny.js", "let a"), ("a.png", &text)]);
    let plain = world.get("shop.localhost/a.js").await;
    let etag = plain.header("etag").trim_matches('"').to_owned();
    for (accept, encoding, tag) in [
        ("gzip, deflate, br", "br", "-br"),
        ("gzip", "gzip", "-gzip"),
        ("br;q=0.1, gzip;q=0.9", "gzip", "-gzip"),
        ("identity", "", ""),
        ("br;q=0", "", ""),
        ("identity;q=0, gzip", "gzip", "-gzip"),
        ("*", "br", "-br"),
    ] {
        for _ in 0..2 {
            let got = world.get_with("shop.localhost/a.js", &[("accept-encoding", accept)]).await;
            assert_eq!((got.status(), got.header("content-encoding")), (200, encoding), "{accept}");
            let decoded = match encoding {
                "br" => unbrotli(&got.body),
                "gzip" => gunzip(&got.body),
                _ => got.text().to_owned(),
            };
            assert_eq!(decoded, text, "{accept}");
            assert_eq!(got.header("etag"), format!("\"{etag}{tag}\""), "{accept}");
            assert_eq!(got.header("content-type"), "text/javascript; charset=utf-8");
            assert_eq!(got.header("vary"), "accept-encoding");
        }
    }
    for path in ["tiny.js", "a.png"] {
        let url = format!("shop.localhost/{path}");
        let got = world.get_with(&url, &[("accept-encoding", "br, gzip")]).await;
        assert_eq!((got.status(), got.header("content-encoding")), (200, ""), "{path}");
        assert_eq!(world.get_with(&url, &[("accept-encoding", "br, identity;q=0")]).await.status(), 406, "{path}");
        assert_eq!(world.get_with(&url, &[("accept-encoding", "*;q=0")]).await.status(), 406, "{path}");
    }
}

#[tokio::test]
async fn conditions_and_ranges_apply_to_the_encoded_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = in_folder(&folder);
    world.files(&[("a.js", &words(1000))]);
    let ask = |name: &'static str, value: String| {
        let world = &world;
        async move { world.get_with("shop.localhost/a.js", &[("accept-encoding", "br"), (name, &value)]).await }
    };
    let whole = ask("x-nothing", String::new()).await;
    let tag = whole.header("etag").to_owned();
    assert_eq!(ask("if-none-match", tag.clone()).await.status(), 304);
    assert_eq!(ask("if-none-match", tag.replace("-br", "")).await.status(), 200);
    let part = ask("range", "bytes=5-9".to_owned()).await;
    assert_eq!((part.status(), &part.body), (206, &whole.body.slice(5..10)));
    assert_eq!((part.header("content-encoding"), part.header("etag")), ("br", &*tag));
    let head = world.ask(request("HEAD", "shop.localhost/a.js", &[("accept-encoding", "br")])).await;
    assert_eq!((head.header("content-length"), head.header("etag")), (&*whole.body.len().to_string(), &*tag));
}

#[tokio::test]
async fn serves_incompressible_files_plain() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = in_folder(&folder);
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as u8
    });
    let noise: Bytes = noise.take(4000).collect();
    let tree = FileTree::new([("a.txt".into(), world.memory.file(noise.clone()))]);
    world.shop(vec![mount("/", tree.into())], vec![]);
    for _ in 0..2 {
        let got = world.get_with("shop.localhost/a.txt", &[("accept-encoding", "gzip")]).await;
        assert_eq!((got.header("content-encoding"), &got.body), ("", &noise));
    }
}

#[tokio::test]
async fn copies_survive_a_restart_and_damaged_ones_are_recreated() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = words(1000);
    let pressed = |world: World| async move {
        let got = world.get_with("shop.localhost/a.js", &[("accept-encoding", "gzip")]).await;
        assert_eq!(got.header("content-encoding"), "gzip");
        (got.body, world.memory.reads.load(Ordering::SeqCst))
    };
    let started = || {
        let world = in_folder(&folder);
        world.files(&[("a.js", &text)]);
        world
    };
    let (first, reads) = pressed(started()).await;
    assert_eq!(reads, 1);
    let (second, reads) = pressed(started()).await;
    assert_eq!((second, reads), (first.clone(), 0), "it was read from the folder");
    for entry in walk(folder.path()) {
        let mut bytes = std::fs::read(&entry).expect("it is there");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&entry, bytes).expect("it is damaged");
    }
    let (third, reads) = pressed(started()).await;
    assert_eq!((third, reads), (first, 1));
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn large_files_are_served_plain_until_compressed() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = in_folder(&folder);
    // Too large for the in-memory cache even when compressed.
    let mut state = 1_u64;
    let text: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:08x}", state >> 32)
    })
    .take(200_000)
    .collect();
    world.files(&[("a.txt", &text)]);
    let ask = || world.get_with("shop.localhost/a.txt", &[("accept-encoding", "gzip")]);
    let first = ask().await;
    assert_eq!((first.header("content-encoding"), first.text() == text), ("", true));
    let pressed = soon(async {
        loop {
            let got = ask().await;
            if got.header("content-encoding") == "gzip" {
                return got;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(gunzip(&pressed.body) == text && pressed.body.len() > 256 << 10);
    let part =
        world.get_with("shop.localhost/a.txt", &[("accept-encoding", "gzip"), ("range", "bytes=300000-300009")]).await;
    assert_eq!((part.status(), &part.body), (206, &pressed.body.slice(300_000..300_010)));
    // The file is still served after its cached copy was deleted.
    for entry in walk(folder.path()) {
        std::fs::remove_file(entry).expect("it is removed");
    }
    let after = ask().await;
    assert_eq!((after.status(), after.header("content-encoding"), after.text() == text), (200, "", true));
}

#[tokio::test]
async fn concurrent_requests_share_one_compression() {
    let world = World::new();
    world.files(&[("a.js", &words(2000))]);
    let all =
        futures::future::join_all((0..20).map(|_| world.get_with("shop.localhost/a.js", &[("accept-encoding", "br")])));
    let all: Vec<Bytes> = all.await.into_iter().map(|got| got.body).collect();
    assert!(all.iter().all(|body| *body == all[0]));
    assert_eq!(world.memory.reads.load(Ordering::SeqCst), 1);
}
