//! Checks whether an address is free, and which process uses it.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use super::check::Check;

/// The kernel's socket table is read in chunks. While other sockets open and close, an entry can be
/// missed, so the lookup is repeated.
const LOOKS: u32 = 3;

pub fn check(name: &str, flag: &str, address: SocketAddr) -> Check {
    match TcpListener::bind(address) {
        Ok(_) => Check::ok(name, format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let owner = (0..LOOKS).find_map(|_| owner(address.port()));
            let owner = owner.unwrap_or_else(|| "a process of another user".to_owned());
            let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8081));
            Check::bad(name, format!("{address} is in use by {owner}"), format!("stop it, or pass `{flag} {other}`"))
        }
        Err(error) => Check::bad(
            name,
            format!("could not bind {address}: {error}"),
            format!("pass another address of this machine with `{flag} ADDR`"),
        ),
    }
}

/// The process that listens on the port, if it is visible to this user.
fn owner(port: u16) -> Option<String> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    for entry in fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(files) = fs::read_dir(entry.path().join("fd")) else { continue };
        let mut targets = files.filter_map(Result::ok).filter_map(|file| fs::read_link(file.path()).ok());
        if targets.any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str())) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            return Some(format!("`{}` (process {pid})", name.trim()));
        }
    }
    None
}

/// The inodes of the sockets that listen on a port, from a table of `/proc/net`.
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let wanted = format!(":{port:04X}");
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let fits = fields.get(1)?.ends_with(&wanted) && *fields.get(3)? == LISTEN;
        fits.then(|| fields.get(9).map(|&inode| inode.to_owned()))?
    };
    table.lines().skip(1).filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn port_in_use_is_reported_with_its_process() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = taken.local_addr().expect("an address");
        let found = check("api port", "--api", address);
        assert_eq!(found.state, State::Bad);
        let own = format!("(process {})", std::process::id());
        assert!(found.detail.ends_with(&own), "{found:?} should name {own}");
        drop(taken);
        assert_eq!(check("api port", "--api", address).state, State::Ok);
    }

    #[test]
    fn only_listening_sockets_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1234 1 x\n   \
            1: 0100007F:1B9E 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 5678 1 x\n";
        assert_eq!(listening(table, 7070), ["1234"]);
        assert!(listening(table, 8080).is_empty());
    }
}
