//! Functions that wait until the test lets them go: each connects to the test, and reads until it gets a byte.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

pub struct Gate(TcpListener);

/// A function that waits.
pub struct Waiting(TcpStream);

impl Gate {
    pub fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// The input of a function that waits here.
    pub fn input(&self) -> Value {
        json!({ "port": self.0.local_addr().unwrap().port() })
    }

    /// The next function that has come so far.
    pub fn next(&self) -> Waiting {
        Waiting(self.0.accept().unwrap().0)
    }

    /// From now on nobody waits.
    pub fn open(self) {
        std::thread::spawn(move || {
            while let Ok((stream, _)) = self.0.accept() {
                Waiting(stream).let_go();
            }
        });
    }
}

impl Waiting {
    /// A function that is gone already needs no word.
    pub fn let_go(mut self) {
        let _ = self.0.write_all(b"x");
    }
}
