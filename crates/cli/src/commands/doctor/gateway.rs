//! Checks that the gateway responds to a request for the app's host name.

use std::time::Duration;

use milepost_client::api::SystemFacts;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::check::Check;

const NAME: &str = "gateway";
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn check(app: &str, facts: &SystemFacts) -> Check {
    let Some(url) = &facts.gateway else {
        return Check::warn(
            NAME,
            "the server has no gateway: it does not serve apps",
            "start it with `--gateway ADDR`",
        );
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let secure = scheme == "https";
    let authority = rest.split('/').next().unwrap_or(rest);
    let (_, port) = split_port(authority, if secure { 443 } else { 80 });
    let host = format!("{app}.{}", facts.domain);
    let answered = tokio::time::timeout(PATIENCE, ask(authority, port, &host, secure)).await;
    match answered {
        Ok(Ok(status)) => {
            Check::ok(NAME, format!("{scheme}://{host}:{port}/ responds{status}{}", resolves(&host, port).await))
        }
        Ok(Err(error)) => Check::bad(
            NAME,
            format!("no response from {authority}: {error}"),
            "check the server's output, and whether a firewall blocks the port",
        ),
        Err(_) => Check::bad(NAME, format!("{authority} did not respond in time"), "check the server's output"),
    }
}

fn split_port(authority: &str, default: u16) -> (&str, u16) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (host, port.parse().unwrap_or(default)),
        _ => (authority, default),
    }
}

/// Sends one request as a browser would, but connects to the address, so that no name is resolved.
/// With TLS it only connects.
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
        None => Err(std::io::Error::other("the response is not HTTP")),
    }
}

/// Browsers and curl resolve every name below `localhost` to this machine; other programs use the
/// system's resolver.
async fn resolves(host: &str, port: u16) -> String {
    let found = tokio::net::lookup_host((host, port)).await.is_ok_and(|mut found| found.next().is_some());
    if found {
        return String::new();
    }
    format!("; only browsers and curl resolve this name, with other clients send `Host: {host}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_defaults_to_that_of_the_scheme() {
        assert_eq!(split_port("localhost:8080", 80), ("localhost", 8080));
        assert_eq!(split_port("example.org", 443), ("example.org", 443));
    }
}
