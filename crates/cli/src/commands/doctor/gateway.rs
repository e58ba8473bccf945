//! Whether the gateway answers for the app's own name.

use std::time::Duration;

use milepost_client::api::SystemFacts;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::check::Check;

const NAME: &str = "gateway";
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn check(app: &str, facts: &SystemFacts) -> Check {
    let Some(url) = &facts.gateway else {
        return Check::warn(NAME, "the server has none: apps are kept, not served", "start it with `--gateway ADDR`");
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let secure = scheme == "https";
    let authority = rest.split('/').next().unwrap_or(rest);
    let (_, port) = split_port(authority, if secure { 443 } else { 80 });
    let host = format!("{app}.{}", facts.domain);
    let answered = tokio::time::timeout(PATIENCE, ask(authority, port, &host, secure)).await;
    match answered {
        Ok(Ok(status)) => {
            Check::ok(NAME, format!("{scheme}://{host}:{port}/ answers{status}{}", resolves(&host, port).await))
        }
        Ok(Err(error)) => Check::bad(
            NAME,
            format!("{authority} does not answer: {error}"),
            "look into the output of the server, and whether a firewall is in between",
        ),
        Err(_) => Check::bad(NAME, format!("{authority} did not answer in time"), "look into the output of the server"),
    }
}

fn split_port(authority: &str, default: u16) -> (&str, u16) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (host, port.parse().unwrap_or(default)),
        _ => (authority, default),
    }
}

/// One request as a browser would send it, but to the address, so that no name has to be found. With TLS a connection is enough.
async fn ask(authority: &str, port: u16, host: &str, secure: bool) -> std::io::Result<String> {
    let (address, _) = split_port(authority, port);
    let address = address.trim_start_matches('[').trim_end_matches(']');
    let mut stream = TcpStream::connect((address, port)).await?;
    if secure {
        return Ok(String::new());
    }
    let request =
        format!("HEAD / HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: milepost-doctor\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    stream.take(4096).read_to_end(&mut head).await?;
    let head = String::from_utf8_lossy(&head);
    match head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)) {
        Some(status) => Ok(format!(" with {status}")),
        None => Err(std::io::Error::other("what answers there does not speak HTTP")),
    }
}

/// Browsers and curl know that everything below `localhost` is this machine; other programs ask the system.
async fn resolves(host: &str, port: u16) -> String {
    let found = tokio::net::lookup_host((host, port)).await.is_ok_and(|mut found| found.next().is_some());
    if found {
        return String::new();
    }
    format!("; only browsers and curl find the name here, for others send `Host: {host}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_from_the_address_or_from_the_scheme() {
        assert_eq!(split_port("localhost:8080", 80), ("localhost", 8080));
        assert_eq!(split_port("example.org", 443), ("example.org", 443));
    }
}
