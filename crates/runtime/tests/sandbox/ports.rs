//! Workers are called through their socket, so they cannot listen on ports of the machine.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use crate::place::{Place, end, first_line};

/// Long enough for a connection within the machine.
const CONNECT: Duration = Duration::from_secs(1);

const BIND: &str = "\
import errno, socket
def bound(host, port, family=socket.AF_INET, protocol=0):
    try:
        with socket.socket(family, socket.SOCK_STREAM, protocol) as one:
            one.bind((host, port)); one.listen(); return 'open'
    except OSError as error: return errno.errorcode[error.errno]
";

fn in_force(place: &Place, name: &str) -> bool {
    place.jail.abilities().iter().any(|ability| ability.name == name && ability.in_force)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number").port()
}

/// The machine's own address on its network, or `None` without a network.
fn outside_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Sends nothing. The address is reserved for documents.
    socket.connect("192.0.2.1:9").ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(address) if !address.ip().is_loopback() => Some(*address.ip()),
        _ => None,
    }
}

#[tokio::test]
async fn a_function_cannot_choose_a_port() {
    let place = Place::new();
    if !in_force(&place, "tcp ports") {
        println!("skipped: {:#?}", place.jail.abilities());
        return;
    }
    let other = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let code = format!(
        "{BIND}
port, v6 = {}, socket.AF_INET6
print(bound('0.0.0.0', port), bound('127.0.0.1', port), bound('::1', port, v6), bound('127.0.0.1', 0))
print(bound('127.0.0.1', port, protocol=262), bound('127.0.0.1', port, protocol=132))
socket.create_connection({:?}).close(); socket.create_connection({:?}, source_address=('127.0.0.1', 0)).close()
print('connects', socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('', port)))",
        free_port(),
        ("127.0.0.1", other.local_addr().expect("its address").port()),
        ("127.0.0.1", other.local_addr().expect("its address").port()),
    );
    let said = place.says(&code).await;
    assert_eq!(said, "EACCES EACCES EACCES open\nEAFNOSUPPORT EAFNOSUPPORT\nconnects None");
}

/// Some tools render pages through a server of their own.
#[tokio::test]
async fn a_build_may_choose_a_port() {
    let place = Place::new();
    let mut spec = place.spec(1, &format!("{BIND}print(bound('127.0.0.1', {}))", free_port()));
    let folder = place.folder.path().join("run/build");
    std::fs::create_dir(&folder).expect("a folder");
    spec.writable = Some(folder);
    let ended = end(place.start(&spec)).await;
    assert_eq!(ended.stdout.trim(), "open", "{}", ended.stderr);
}

#[tokio::test]
async fn other_machines_cannot_connect_to_a_worker() {
    let place = Place::new();
    let (Some(outside), true) = (outside_address(), in_force(&place, "network")) else {
        println!("skipped: no network, or {:#?}", place.jail.abilities());
        return;
    };
    let reaches = |host: Ipv4Addr, port: u16| TcpStream::connect_timeout(&(host, port).into(), CONNECT).is_ok();
    let control = TcpListener::bind("0.0.0.0:0").expect("a listener");
    assert!(reaches(outside, control.local_addr().expect("its address").port()));

    // Without `bind`, the kernel chooses a port of all addresses.
    let code = "\
import socket
own = socket.socket()
own.listen()
print(own.getsockname()[1], flush=True)
socket.socket(fileno=3).accept()";
    let mut jailed = place.start(&place.spec(1, code));
    let port = first_line(&mut jailed).await.parse().expect("a port");
    assert!(reaches(Ipv4Addr::LOCALHOST, port));
    assert!(!reaches(outside, port));
}
