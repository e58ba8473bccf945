//! An S3 server for real requests: `moto`, in its own process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use milepost_blobs::Blobs;

pub struct S3 {
    /// For example `127.0.0.1:4711`.
    address: String,
    server: Option<Child>,
}

impl S3 {
    /// Uses the server at `MILEPOST_TEST_S3`, or starts one that lives as long as this. A missing
    /// server fails the test instead of skipping it, because no other test runs this code against
    /// S3.
    pub fn find() -> Self {
        if let Ok(url) = std::env::var("MILEPOST_TEST_S3") {
            let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
            return Self { address, server: None };
        }
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/moto/bin/moto_server");
        assert!(
            program.exists(),
            "no S3 server to test with: run `cargo xtask setup`, or set MILEPOST_TEST_S3 to the URL of a moto server",
        );
        let mut server = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("moto starts");
        let mut log = BufReader::new(server.stderr.take().expect("piped")).lines();
        // It logs its port once it accepts connections.
        let address = log
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("Running on http://")?.1.trim().to_owned()))
            .expect("moto says where it listens");
        // It logs every request, and would block on a full pipe.
        std::thread::spawn(move || log.for_each(drop));
        Self { address, server: Some(server) }
    }

    pub fn new_bucket(&self) -> String {
        let bucket = format!("blobs-{}-{:?}", std::process::id(), std::thread::current().id());
        let bucket = bucket.to_lowercase().replace(['(', ')'], "");
        let answer = self.request("PUT", &format!("/{bucket}"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        bucket
    }

    pub fn open(&self, url: &str) -> Blobs {
        let options = [
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_PROFILE", "a variable that is not for us".to_owned()),
        ];
        Blobs::open_with(url, &options.map(|(name, value)| (name.to_owned(), value))).expect("opens")
    }

    /// Parts of an aborted upload are not listed as objects, but cost money.
    pub async fn wait_until_no_upload_is_unfinished(&self, bucket: &str) {
        let gone = async {
            while self.request("GET", &format!("/{bucket}?uploads")).contains("<UploadId>") {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.expect("given up uploads are taken back");
    }

    /// Sends plain requests without a signature, which moto accepts.
    fn request(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        let host = &self.address;
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .expect("sends");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        answer
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
