//! Makes output reproducible: replaces what differs between machines and runs by names.

use std::path::Path;

/// The system never assigns a lower port, so a lower one is fixed and stays as it is.
const FIRST_EPHEMERAL_PORT: u32 = 10_000;

const HOSTS: [&str; 3] = ["127.0.0.1:", "localhost:", "[::1]:"];

#[derive(Debug)]
pub(super) struct Normalizer {
    homes: Vec<String>,
}

impl Normalizer {
    pub(super) fn for_home(home: &Path) -> Self {
        let resolved = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let mut homes: Vec<String> = [resolved.as_path(), home].iter().map(|path| path.display().to_string()).collect();
        homes.dedup();
        // The longer one first, because on some systems one ends with the other.
        homes.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Self { homes }
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let text = self.homes.iter().fold(text.to_owned(), |text, home| text.replace(home.as_str(), "$HOME"));
        HOSTS.iter().fold(text, |text, host| name_ports(&text, host))
    }
}

fn name_ports(text: &str, host: &str) -> String {
    let mut pieces = text.split(host);
    let mut named = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        named.push_str(host);
        let end = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        let (port, rest) = piece.split_at(end);
        let chosen = port.parse::<u32>().is_ok_and(|port| port >= FIRST_EPHEMERAL_PORT);
        named.push_str(if chosen { "PORT" } else { port });
        named.push_str(rest);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let normalizer = Normalizer { homes: vec!["/tmp/milepost-home-x1".to_owned()] };
        assert_eq!(normalizer.apply(text), expected);
    }

    #[test]
    fn replaces_the_home_folder() {
        check("read /tmp/milepost-home-x1/data/x, /tmp/milepost-home-x1", "read $HOME/data/x, $HOME");
    }

    #[test]
    fn replaces_assigned_ports_and_keeps_fixed_ones() {
        check("http://127.0.0.1:40123/x shop.localhost:51000", "http://127.0.0.1:PORT/x shop.localhost:PORT");
        check("default: 127.0.0.1:7070, [::1]:8080", "default: 127.0.0.1:7070, [::1]:8080");
        check("127.0.0.1: none", "127.0.0.1: none");
    }
}
