//! A `binary` function that serves HTTP/1.1 on the socket passed as descriptor 3. `POST` echoes the
//! body, `GET /close` closes the connection afterwards, `GET /exit` ends the process.

use std::os::fd::RawFd;

use nix::sys::socket::{MsgFlags, accept, recv, send};

fn main() {
    println!("up with {:?} {:?}", std::env::var("LISTEN_FDS"), std::env::var("GREETING"));
    while let Ok(connection) = accept(3) {
        std::thread::spawn(move || while serve(connection).is_some() {});
    }
}

/// Serves one request. Returns `None` once the connection is closed.
fn serve(connection: RawFd) -> Option<()> {
    let mut input = Vec::new();
    let head_end = loop {
        if let Some(at) = input.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        receive(connection, &mut input)?;
    };
    let head = String::from_utf8_lossy(&input[..head_end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0_usize);
    let id = head.lines().find_map(|line| line.strip_prefix("milepost-request-id: ")).unwrap_or_default();
    println!("got {} for {id}", head.lines().next().unwrap_or_default());
    if head.starts_with("get /exit") {
        std::process::exit(7);
    }
    let close = if head.starts_with("get /close") { "connection: close\r\n" } else { "" };
    let greeting = std::env::var("GREETING").unwrap_or_default();
    let size = if length > 0 { length } else { greeting.len() };
    send_all(connection, format!("HTTP/1.1 200 OK\r\n{close}content-length: {size}\r\n\r\n").as_bytes())?;
    if length == 0 {
        send_all(connection, greeting.as_bytes())?;
    }
    let mut left = length;
    let mut body = input.split_off(head_end);
    loop {
        send_all(connection, &body)?;
        left -= body.len();
        if left == 0 {
            break;
        }
        body.clear();
        receive(connection, &mut body)?;
    }
    if close.is_empty() {
        return Some(());
    }
    let _ = nix::unistd::close(connection);
    None
}

fn receive(connection: RawFd, into: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 64 << 10];
    let count = recv(connection, &mut buffer, MsgFlags::empty()).ok().filter(|count| *count > 0)?;
    into.extend_from_slice(&buffer[..count]);
    Some(())
}

fn send_all(connection: RawFd, mut bytes: &[u8]) -> Option<()> {
    while !bytes.is_empty() {
        let sent = send(connection, bytes, MsgFlags::MSG_NOSIGNAL).ok()?;
        bytes = &bytes[sent..];
    }
    Some(())
}
