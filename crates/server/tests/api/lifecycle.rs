use std::time::Duration;

use milepost_model::Digest;
use milepost_model::pack::BlobKind;
use milepost_server::{Server, Settings, StartError};
use milepost_testkit::eventually;
use milepost_testkit::s3::S3Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bodies::{config, pack};
use crate::server::{TestServer, settings};

#[tokio::test]
async fn running_upload_finishes_after_stop() {
    let server = TestServer::start().await;
    let bytes = pack(&[(BlobKind::File, b"slow but whole")]);
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
    stream.write_all(&bytes[..20]).await.unwrap();

    assert!(server.data().join("server.json").exists());
    server.tell_to_stop();
    let address = server.address;
    eventually(Duration::from_secs(5), || async { TcpStream::connect(address).await.is_err() }).await;
    eventually(Duration::from_secs(5), || async { !server.data().join("server.json").exists() }).await;

    stream.write_all(&bytes[20..]).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let data = server.ended().await;

    let again = TestServer::start_in(data, |_| {}).await;
    let digest = Digest::of(b"slow but whole");
    let blob = again.ask(reqwest::Method::GET, &format!("/apps/default/blobs/{digest}"));
    assert_eq!(blob.send().await.unwrap().text().await.unwrap(), "slow but whole");
}

#[tokio::test]
async fn closes_idle_connections_but_not_active_ones() {
    let server = TestServer::start_with(|settings| settings.rest = Duration::from_millis(1500)).await;
    let bytes = pack(&[(BlobKind::File, b"takes its time")]);
    let head = format!(
        "POST /api/v1/apps/default/blobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        server.token,
        bytes.len()
    );
    let mut sending = TcpStream::connect(server.address).await.unwrap();
    sending.write_all(head.as_bytes()).await.unwrap();
    let mut others = Vec::new();
    for said in
        ["", "GET /healthz HTTP/1.1\r\nhost: x\r\n", "PRI * HTTP/2.0\r\n", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"]
    {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        others.push((said, stream));
    }
    for (said, mut stream) in others {
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await;
        closed.unwrap_or_else(|_| panic!("still open after {said:?}")).unwrap();
        assert_eq!(answer.starts_with(b"HTTP/1.1 200"), said.ends_with("\r\n\r\n"), "{said:?}");
    }
    sending.write_all(&bytes).await.unwrap();
    let mut answer = String::new();
    sending.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn idle_connections_do_not_delay_shutdown() {
    let server = TestServer::start().await;
    let silent = TcpStream::connect(server.address).await.unwrap();
    let mut half = TcpStream::connect(server.address).await.unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    // Connections are accepted in order, so the others have been accepted by now. This one stays
    // open for another request.
    server.get("/apps/default").await;
    tokio::time::timeout(Duration::from_secs(12), server.ended()).await.expect("it does not wait");
    drop((silent, half));
}

#[tokio::test]
async fn restricts_files_in_a_world_readable_data_directory() {
    use std::os::unix::fs::PermissionsExt;
    let data = tempfile::tempdir().unwrap();
    let set =
        |path: &std::path::Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(data.path(), 0o755);
    let server = TestServer::start_in(data, |_| {}).await;
    server.change(&config("a", 1)).await;
    let mode =
        |data: &std::path::Path, name: &str| std::fs::metadata(data.join(name)).unwrap().permissions().mode() & 0o077;
    for name in ["catalog.db", "catalog.db-wal", "logs", "blobs", "admin.token", "secret.key"] {
        assert_eq!(mode(server.data(), name), 0, "{name}");
    }
    // Permissions left open by an earlier release are restricted.
    let data = server.ended().await;
    for name in ["catalog.db", "logs", "admin.token"] {
        set(&data.path().join(name), 0o755);
    }
    let again = TestServer::start_in(data, |_| {}).await;
    for name in ["catalog.db", "logs", "admin.token"] {
        assert_eq!(mode(again.data(), name), 0, "{name}");
    }
}

#[tokio::test]
async fn rejects_a_second_server_on_the_same_directory() {
    let server = TestServer::start().await;
    for _ in 0..2 {
        let error = Server::start(settings(server.data())).await.err().unwrap();
        assert!(matches!(error, StartError::Running { pid, .. } if pid == std::process::id()), "{error}");
        assert!(error.to_string().contains("--data"), "{error}");
        // A stopping server removes this file but holds the directory until it has ended.
        let _ = std::fs::remove_file(server.data().join("server.json"));
    }
    server.change(&config("a", 1)).await;
    let data = server.ended().await;
    Server::start(settings(data.path())).await.unwrap();
}

#[tokio::test]
async fn acknowledged_changes_survive_a_restart() {
    let server = TestServer::start().await;
    let outcome = server.change(&config("a", 1)).await;
    let token = server.token.clone();
    let data = server.ended().await;
    let again = TestServer::start_in(data, |_| {}).await;
    assert_eq!(again.token, token, "the admin's token stays");
    assert_eq!(again.get("/apps/default").await["head"], outcome["appVersion"]);
}

#[tokio::test]
async fn rejects_a_key_file_readable_by_others() {
    use std::os::unix::fs::PermissionsExt;
    let data = TestServer::start().await.ended().await;
    let key = data.path().join("secret.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = Server::start(settings(data.path())).await.err().unwrap();
    assert!(error.to_string().contains("chmod 600"), "{error}");
}

async fn check_start_refused(adjust: impl FnOnce(&mut Settings), says: &str, hint: &str) {
    let data = tempfile::tempdir().unwrap();
    let mut settings = settings(data.path());
    adjust(&mut settings);
    let error = Server::start(settings).await.err().unwrap();
    let told = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let told: Vec<String> = told.map(ToString::to_string).collect();
    assert!(told.iter().any(|sentence| sentence.contains(says)), "{told:?}");
    assert!(error.hint().unwrap_or_default().contains(hint), "{:?}", error.hint());
}

#[tokio::test(flavor = "multi_thread")]
async fn start_fails_with_a_hint_if_a_store_is_unusable() {
    check_start_refused(
        |settings| settings.database = Some("mysql://me:secret@db/x".to_owned()),
        "`mysql://…` is not a database that Milepost knows",
        "`postgres://user@host/name`",
    )
    .await;
    let nowhere = "postgres://me@127.0.0.1:1/none".to_owned();
    check_start_refused(|settings| settings.database = Some(nowhere), "could not open the database", "createdb").await;
    let no_folder = "/proc/nowhere/catalog.db".to_owned();
    check_start_refused(|settings| settings.database = Some(no_folder), "SQLite file", "folder of the file").await;
    check_start_refused(|settings| settings.data = "/proc/nowhere".into(), "data folder", "`--data DIR`").await;
    let s3 = S3Server::start();
    let variables: Vec<_> = s3.variables().map(|(name, value)| (name.to_owned(), value)).to_vec();
    check_start_refused(
        |settings| {
            settings.blobs = Some("s3://nosuchbucket/x".to_owned());
            settings.aws = Some(variables);
        },
        "blob store",
        "`--blobs`",
    )
    .await;
}
