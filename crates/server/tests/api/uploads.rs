use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost_model::pack::{BlobKind, HEADER_LEN, MAGIC, encode_header};
use milepost_model::{Digest, PlanName};
use milepost_testkit::eventually;
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bodies::{directories_of, file, pack, packed_tree, static_item, tree};
use crate::problems::answer_to_head;
use crate::server::{TestServer, problem, refused};

#[tokio::test]
async fn uploads_and_returns_many_blobs() {
    let server = TestServer::start().await;
    let texts: Vec<String> = (0..3000).map(|at| format!("file number {at}")).collect();
    let names: Vec<String> = (0..3000).map(|at| format!("d{}/f{at}", at % 40)).collect();
    let files: Vec<(&str, &str)> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (root, pack) = packed_tree(&files);
    let response = server.upload_to("default", pack).await;
    let uploaded: serde_json::Value = response.json().await.unwrap();
    assert_eq!(uploaded["blobs"], 3000 + 40 + 1);
    let digests: Vec<Digest> = texts.iter().map(|text| Digest::of(text.as_bytes())).collect();
    assert!(server.missing(&digests).await.is_empty());
    let listed = server.get(&format!("/apps/default/trees/{root}")).await;
    assert_eq!(listed.as_array().unwrap().len(), 3000);
    let blob = server.ask(Method::GET, &format!("/apps/default/blobs/{}", digests[7])).send().await.unwrap();
    assert_eq!(blob.text().await.unwrap(), texts[7]);
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn damaged_blob_returns_an_error() {
    let server = TestServer::start().await;
    server.upload_to("default", pack(&[(BlobKind::File, b"worth keeping")])).await;
    let mut damaged = 0;
    for path in files_below(&server.data().join("blobs")) {
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(5).position(|part| part == b"worth") {
            bytes[at] = b'W';
            std::fs::write(&path, bytes).unwrap();
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1);
    let path = format!("/apps/default/blobs/{}", Digest::of(b"worth keeping"));
    let problem = problem(server.ask(Method::GET, &path).send().await.unwrap()).await;
    assert_eq!((problem.status, problem.code.as_str()), (503, "unavailable"), "{problem:?}");
}

async fn check_refused(server: &TestServer, pack: Vec<u8>, status: u16, code: &str, says: &str) {
    let problem = problem(server.upload_to("default", pack).await).await;
    assert_eq!((problem.status, problem.code.as_str()), (status, code), "{problem:?}");
    assert!(problem.detail.contains(says), "{problem:?}");
}

#[tokio::test]
async fn rejects_invalid_packs_completely() {
    let server = TestServer::start().await;
    let good: &[u8] = b"good";
    let mut mismatch = pack(&[(BlobKind::File, good)]);
    mismatch.extend(encode_header(BlobKind::File, Digest::of(b"other"), 3));
    mismatch.extend(b"bad");
    check_refused(&server, mismatch, 400, "digest_mismatch", &Digest::of(b"other").to_string()).await;
    let whole = pack(&[(BlobKind::File, good), (BlobKind::File, b"more")]);
    for cut in [4, MAGIC.len() + 5, MAGIC.len() + HEADER_LEN + 2, whole.len() - 1] {
        check_refused(&server, whole[..cut].to_vec(), 400, "invalid_upload", "ends after").await;
    }
    check_refused(&server, Vec::new(), 400, "invalid_upload", "").await;
    check_refused(&server, MAGIC.to_vec(), 400, "invalid_upload", "no blob").await;
    check_refused(&server, b"PK\x03\x04 a zip, say".to_vec(), 400, "invalid_upload", "MPPACK01").await;
    let mut unknown_kind = pack(&[(BlobKind::File, good)]);
    unknown_kind[MAGIC.len()] = 9;
    check_refused(&server, unknown_kind, 400, "invalid_upload", "kind").await;
    let mut endless = MAGIC.to_vec();
    endless.extend(encode_header(BlobKind::File, Digest::of(b""), u64::MAX));
    check_refused(&server, endless, 413, "upload_too_large", "bytes").await;
    assert_eq!(server.missing(&[Digest::of(good)]).await, [Digest::of(good)], "nothing of them was kept");
    assert_eq!(packs_in(&server), 0, "and nothing is left in the store");
}

fn packs_in(server: &TestServer) -> usize {
    let mut open = vec![server.data().join("blobs")];
    let mut files = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { files += 1 }
        }
    }
    files
}

#[tokio::test]
async fn rejects_directories_with_missing_entries() {
    let server = TestServer::start().await;
    let (root, pack) = directories_of(&tree(&[("a.txt", file("never sent"))]));
    let problem = problem(server.upload_to("default", pack).await).await;
    assert_eq!((problem.status, problem.code.as_str()), (409, "missing_blobs"), "{problem:?}");
    assert_eq!(problem.blockers, [Digest::of(b"never sent").to_string()]);
    assert_eq!(server.missing(&[root]).await, [root]);
    assert_eq!(packs_in(&server), 0);
    let request = server.ask(Method::POST, "/apps/default/changes").json(&static_item("site", root));
    refused(request, 409, "missing_blobs").await;
}

#[tokio::test]
async fn rejects_non_canonical_directories() {
    let server = TestServer::start().await;
    for (text, says) in [
        (r#"{"format":1, "entries":{}}"#, "canonical"),
        (r#"{"entries":{},"format":99}"#, "format 99"),
        (r#"{"entries":{"..":{"link":{"target":"x"}}},"format":1}"#, ".."),
        (r#"{"entries":{"a/b":{"link":{"target":"x"}}},"format":1}"#, "a/b"),
        (r#"{"entries":{"a":{"link":{"target":"/etc/passwd"}}},"format":1}"#, "outside"),
        ("not json", "directory"),
        ("{\"entries\":{\"\u{0}\":{\"link\":{\"target\":\"x\"}}},\"format\":1}", "directory"),
    ] {
        check_refused(&server, pack(&[(BlobKind::Directory, text.as_bytes())]), 400, "invalid_upload", says).await;
    }
    check_refused(&server, pack(&[(BlobKind::Directory, b"\xff\xfe")]), 400, "invalid_upload", "directory").await;
}

#[tokio::test]
async fn rejects_a_declared_upload_above_the_plan() {
    let server = TestServer::start().await;
    server.client.app_create(&"small".parse().unwrap(), PlanName::Free).await.unwrap();
    for length in [2 << 30, 10_000_000_000] {
        let answer = answer_to_head(&server, "/apps/small/blobs", length).await;
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("upload_too_large"), "{answer}");
        assert!(answer.contains("larger plan"), "{answer}");
    }
    let mut large_blob = MAGIC.to_vec();
    large_blob.extend(encode_header(BlobKind::File, Digest::of(b""), 2 << 30));
    let problem = problem(server.upload_to("small", large_blob).await).await;
    assert_eq!((problem.status, problem.code.as_str()), (413, "upload_too_large"));
    assert!(problem.hint.as_ref().is_some_and(|hint| hint.contains("larger plan")), "{problem:?}");
    assert_eq!(server.client.app_get("small").await.unwrap().stored_bytes, 0);
}

#[tokio::test]
async fn broken_connection_leaves_nothing() {
    let server = TestServer::start().await;
    let bytes = pack(&[(BlobKind::File, b"almost there")]);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/v1/apps/default/blobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\n\r\n",
        server.token,
        bytes.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(&bytes[..bytes.len() - 1]).await.unwrap();
    drop(stream);
    eventually(Duration::from_secs(10), || async {
        // A request dropped midway is not counted, unlike one that ended.
        server.missing(&[Digest::of(b"almost there")]).await.len() == 1 && packs_in(&server) == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_gets_the_error_while_still_sending() {
    let server = TestServer::start().await;
    server.client.app_create(&"small".parse().unwrap(), PlanName::Free).await.unwrap();
    for _ in 0..10 {
        let mut start = MAGIC.to_vec();
        start.extend(encode_header(BlobKind::File, Digest::of(b""), 2 << 30));
        let rest = bytes::Bytes::from(vec![7; 256 << 10]);
        let chunks = std::iter::once(bytes::Bytes::from(start)).chain(std::iter::repeat_n(rest, 64));
        let body = reqwest::Body::wrap_stream(futures::stream::iter(chunks.map(Ok::<_, std::io::Error>)));
        refused(server.ask(Method::POST, "/apps/small/blobs").body(body), 413, "upload_too_large").await;
    }
}

#[tokio::test]
async fn next_start_removes_stale_v1_uploads() {
    let data = tempfile::tempdir().unwrap();
    let (left, other) = (data.path().join("v1-upload-Xy12z9"), data.path().join("v1-uploaded"));
    for folder in [&left, &other] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("package.zip"), "half of a package").unwrap();
    }
    let _server = TestServer::start_in(data, |_| {}).await;
    eventually(Duration::from_secs(10), || async { !left.exists() }).await;
    assert!(other.exists(), "it has another name");
}
