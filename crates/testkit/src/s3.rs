//! An S3 server: moto, in its own process.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::{free_port, target_dir};

/// moto imports much Python before it responds, which is slower while the machine is compiling.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// A running S3 server with one empty bucket, all in memory. Dropping it ends the server.
pub struct S3Server {
    child: Child,
    port: u16,
}

impl S3Server {
    pub const BUCKET: &'static str = "milepost-test";
    pub const REGION: &'static str = "us-east-1";

    /// Starts a server and creates the bucket, which takes one or two seconds. Share it between the
    /// cases of a test.
    pub fn start() -> Self {
        let program = target_dir().join("tools/moto/bin/moto_server");
        assert!(program.is_file(), "moto is not installed; `cargo xtask setup` does it");
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            // If another process takes the free port first, moto exits and the next try uses a new
            // one.
            let port = free_port();
            let mut command = Command::new(&program);
            command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut server = Self { child: command.spawn().expect("start moto"), port };
            while matches!(server.child.try_wait(), Ok(None)) {
                if make_bucket(port).is_ok() {
                    return server;
                }
                assert!(Instant::now() < deadline, "moto did not answer within {START_DEADLINE:?}");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The variables with which `object_store` and Amazon's own tools find this server.
    pub fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", self.endpoint()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", Self::REGION.to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ]
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// moto accepts unsigned requests, so one line of HTTP is enough.
fn make_bucket(port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(START_DEADLINE))?;
    let bucket = S3Server::BUCKET;
    write!(stream, "PUT /{bucket} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1);
    if status == Some("200") { Ok(()) } else { Err(io::Error::other(answer)) }
}
