//! The typed client with a server that responds or refuses, and with one that is unreachable or not
//! Milepost.

use milepost_client::{Client, ClientError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::TestServer;

#[tokio::test]
async fn refusal_has_a_code_and_a_hint() {
    let server = TestServer::start().await;
    let error = server.client.app_get("defualt").await.unwrap_err();
    let ClientError::Refused(problem) = error else { panic!("{error}") };
    assert_eq!((problem.status, problem.code.as_str()), (404, "app_not_found"));
    assert_eq!(problem.hint.unwrap(), "did you mean `default`?");
}

#[tokio::test]
async fn unreachable_error_names_the_server() {
    let server = TestServer::start().await;
    let url = server.url("");
    server.ended().await;
    let error = Client::new(&url, "mp_x").unwrap().whoami().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains(&url), "{error}");
}

#[tokio::test]
async fn rejects_invalid_addresses_before_sending() {
    for address in ["", "localhost:7070", "ftp://localhost", "http://", "not an address"] {
        assert!(matches!(Client::new(address, "mp_x"), Err(ClientError::Address(_))), "{address}");
    }
    let client = Client::new("http://127.0.0.1:1/else?where=1#x", "mp_x").unwrap();
    assert_eq!(client.server().as_str(), "http://127.0.0.1:1/api/v1/");
}

#[tokio::test]
async fn shortens_responses_of_other_servers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let other = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await.unwrap();
        let page = "x".repeat(5000);
        let answer = format!("HTTP/1.1 502 Bad Gateway\r\ncontent-length: {}\r\n\r\n{page}", page.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let error = Client::new(&url, "mp_x").unwrap().whoami().await.unwrap_err();
    assert!(matches!(error, ClientError::Protocol { status: 502, .. }), "{error:?}");
    assert!(error.to_string().len() < 400, "{error}");
    other.await.unwrap();
}

#[tokio::test]
async fn escapes_names_in_paths() {
    let server = TestServer::start().await;
    let root = server.store(&[("index.html", "<h1>hi</h1>")]).await;
    server.change(&crate::bodies::static_item("/a b/ünï%2F", root)).await;
    let key = milepost_model::change::UnitKey {
        kind: milepost_model::UnitKind::Static,
        name: "/a b/ünï%2F".parse().unwrap(),
    };
    assert_eq!(server.client.unit_get("default", &key).await.unwrap().name, key.name);
}
