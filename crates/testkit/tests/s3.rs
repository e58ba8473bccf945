//! The S3 server for tests behaves like S3.

use std::io::{Read, Write};
use std::net::TcpStream;

use milepost_testkit::s3::S3Server;

#[test]
fn has_a_bucket_that_stores_objects() {
    let server = S3Server::start();
    let address = server.endpoint().strip_prefix("http://").unwrap().to_owned();
    let request = |text: String| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let path = format!("/{}/greeting", S3Server::BUCKET);
    request(format!("PUT {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: 5\r\n\r\nhello"));
    // moto rejects reads without credentials, but accepts any.
    let who = "Authorization: AWS4-HMAC-SHA256 Credential=test/20260102/us-east-1/s3/aws4_request, Signature=none";
    let answer = request(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{who}\r\n\r\n"));
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
}
