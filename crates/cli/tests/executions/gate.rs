//! Functions that block until the test releases them: each connects to the test and waits for a
//! byte.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

pub struct Gate(TcpListener);

/// A blocked function.
pub struct Waiting(TcpStream);

impl Gate {
    pub fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// The input that makes a function block here.
    pub fn input(&self) -> Value {
        json!({ "port": self.0.local_addr().unwrap().port() })
    }

    /// Waits for the next function to arrive.
    pub fn next(&self) -> Waiting {
        Waiting(self.0.accept().unwrap().0)
    }

    /// Lets all later functions pass.
    pub fn open(self) {
        std::thread::spawn(move || {
            while let Ok((stream, _)) = self.0.accept() {
                Waiting(stream).let_go();
            }
        });
    }
}

impl Waiting {
    /// Releases the function. One that has ended already is ignored.
    pub fn let_go(mut self) {
        let _ = self.0.write_all(b"x");
    }
}
