//! A network between a client and a server that can be cut without either of them noticing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// How often a connection looks whether it is cut.
const LOOK: Duration = Duration::from_millis(5);

/// Forwards connections to a port of this machine. While it is cut, no byte passes, and no
/// connection is closed. Dropping it closes them.
pub struct Partition {
    port: u16,
    cut: Arc<AtomicBool>,
}

impl Partition {
    pub fn start(to: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a free port on 127.0.0.1");
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicBool::new(false));
        let state = Arc::downgrade(&cut);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if state.strong_count() == 0 {
                    return;
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { continue };
                let (from_client, from_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (up, down) = (state.clone(), state.clone());
                thread::spawn(move || forward(from_client, server, &up));
                thread::spawn(move || forward(from_server, client, &down));
            }
        });
        Self { port, cut }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    /// What was sent meanwhile arrives now.
    pub fn heal(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, state: &Weak<AtomicBool>) {
    from.set_read_timeout(Some(LOOK)).unwrap();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if state.strong_count() == 0 {
                    break;
                }
                continue;
            }
            Err(_) => 0,
        };
        while state.upgrade().is_some_and(|cut| cut.load(Ordering::SeqCst)) {
            thread::sleep(LOOK);
        }
        if length == 0 || state.strong_count() == 0 || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
