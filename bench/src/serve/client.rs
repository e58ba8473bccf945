//! One connection with one request at a time, to measure latencies without the overhead of a load
//! generator.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const DEADLINE: Duration = Duration::from_secs(30);

/// The server and the path of a request.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub host: String,
    pub path: String,
}

impl Target {
    pub fn local(port: u16, path: &str) -> Self {
        Self { address: ([127, 0, 0, 1], port).into(), host: format!("127.0.0.1:{port}"), path: path.to_owned() }
    }

    fn request(&self) -> Vec<u8> {
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", self.path, self.host).into_bytes()
    }
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    pub took: Duration,
}

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Result<Self> {
        let stream =
            TcpStream::connect_timeout(&address, DEADLINE).with_context(|| format!("no answer at {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        Ok(Self { stream, buffer: Vec::with_capacity(256 * 1024) })
    }

    /// Measures the time from before the first byte is written until the last one was read.
    pub fn get(&mut self, target: &Target) -> Result<Answer> {
        let request = target.request();
        self.buffer.clear();
        let started = Instant::now();
        self.stream.write_all(&request)?;
        loop {
            if let Some(whole) = Whole::find(&self.buffer)? {
                let took = started.elapsed();
                return Ok(Answer { status: whole.status, body: whole.body, took });
            }
            let mut chunk = [0; 64 * 1024];
            let count = self.stream.read(&mut chunk)?;
            if count == 0 {
                bail!("the connection was closed in the middle of an answer");
            }
            self.buffer.extend_from_slice(&chunk[..count]);
        }
    }
}

/// Sends one request on its own connection.
pub fn get(target: &Target) -> Result<Answer> {
    Connection::open(target.address)?.get(target)
}

/// A complete response.
struct Whole {
    status: u16,
    body: Vec<u8>,
}

impl Whole {
    fn find(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let head = std::str::from_utf8(&bytes[..end]).context("the head of an answer is not text")?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).context("no status")?;
        let rest = &bytes[end + 4..];
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                let length: usize = value.trim().parse().context("a content-length that is no number")?;
                return Ok(rest.get(..length).map(|body| Self { status, body: body.to_vec() }));
            }
            if name.eq_ignore_ascii_case("transfer-encoding") {
                return Ok(chunked(rest)?.map(|body| Self { status, body }));
            }
        }
        bail!("an answer that does not say how long it is");
    }
}

fn chunked(mut bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    loop {
        let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&bytes[..end])?.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size.trim(), 16).context("the size of a chunk is no number")?;
        let Some(chunk) = bytes.get(end + 2..end + 2 + size + 2) else { return Ok(None) };
        if size == 0 {
            return Ok(Some(body));
        }
        body.extend_from_slice(&chunk[..size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(answer: &str) -> Option<String> {
        let whole = Whole::find(answer.as_bytes()).expect("a sound answer")?;
        Some(String::from_utf8(whole.body).expect("text"))
    }

    #[test]
    fn parses_a_response_with_a_content_length() {
        assert_eq!(body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhello").as_deref(), Some("he"));
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), None);
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Le"), None);
    }

    #[test]
    fn parses_a_chunked_response() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(body(&format!("{head}5\r\nhello\r\n1;x\r\n!\r\n0\r\n\r\n")).as_deref(), Some("hello!"));
        assert_eq!(body(&format!("{head}5\r\nhello\r\n")), None);
    }
}
