use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use milepost_gateway::{Listener, Tls};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::support::*;

#[tokio::test]
async fn serves_both_protocols_over_tls() {
    let made = rcgen::generate_simple_self_signed(["shop.localhost".to_owned()]).expect("a certificate");
    let tls = Tls::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).expect("a pair");
    let world = World::new();
    world.shop(vec![], vec![route("", "/*", &public(Fake::Tell))]);
    let served = world.serve_on(|socket| Listener::tls(socket, tls)).await;
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a root");
    for protocol in ["h2", "http/1.1"] {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = ServerName::try_from("shop.localhost").expect("a name");
        let stream =
            TlsConnector::from(Arc::new(config)).connect(name, served.connect().await).await.expect("it connects");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
        let request = http::Request::get(if protocol == "h2" { "https://shop.localhost/x" } else { "/x" });
        let request = request.header("host", "shop.localhost").body(Full::new(Bytes::new())).expect("a request");
        let io = TokioIo::new(stream);
        let got = if protocol == "h2" {
            let (mut client, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("it connects");
            tokio::spawn(connection);
            collect(soon(client.send_request(request)).await.expect("an answer")).await
        } else {
            let (mut client, connection) = hyper::client::conn::http1::handshake(io).await.expect("it connects");
            tokio::spawn(connection);
            collect(soon(client.send_request(request)).await.expect("an answer")).await
        };
        assert!(got.text().contains("x-forwarded-proto: https\n"), "{}", got.text());
        assert!(got.text().starts_with("GET /x route=/\n"), "{}", got.text());
    }
    // A client that speaks plain HTTP gets a readable error.
    let answer = served.raw("GET / HTTP/1.1\r\nhost: shop.localhost\r\n\r\n").await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with("HTTP/1.1 400 ") && body.ends_with("begin the address with https.\n"), "{answer}");
    assert!(head.ends_with(&format!("content-length: {}", body.len())), "{answer}");
    let answer = served.raw("\u{1}\r\n").await;
    assert!(!answer.contains("HTTP/1.1"), "{answer}");
    served.stopped().await;
}
