//! A scriptable web server of static files: redirects, wrong lengths, dropped connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The response for a path.
#[derive(Clone)]
pub enum Answer {
    Bytes(Vec<u8>),
    /// Declares more bytes than it sends.
    Cut(Vec<u8>),
    Redirect(String),
    /// Serves the bytes to clients with the token that the realm issues.
    ForToken {
        realm: String,
        token: String,
        bytes: Vec<u8>,
    },
    Status(u16),
}

pub struct Web {
    pub url: String,
    files: Arc<Mutex<BTreeMap<String, Answer>>>,
    requests: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Web {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let files: Arc<Mutex<BTreeMap<String, Answer>>> = Arc::default();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answers, asked) = (Arc::clone(&files), Arc::clone(&requests));
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answers, asked) = (Arc::clone(&answers), Arc::clone(&asked));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let mut byte = [0];
                        if stream.read_exact(&mut byte).await.is_err() {
                            return;
                        }
                        head.push(byte[0]);
                    }
                    let head = String::from_utf8_lossy(&head).to_lowercase();
                    let path = head.split(' ').nth(1).unwrap_or_default();
                    let path = path.split('?').next().unwrap_or_default().to_owned();
                    asked.lock().unwrap().push(path.clone());
                    let answer = answers.lock().unwrap().get(&path).cloned().unwrap_or(Answer::Status(404));
                    let _ = stream.write_all(&response(&head, answer)).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { url, files, requests, task }
    }

    pub fn put(&self, path: &str, answer: Answer) {
        self.files.lock().unwrap().insert(path.to_lowercase(), answer);
    }

    /// Serves the current contents of a directory below `/`.
    pub fn put_folder(&self, root: &std::path::Path) {
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    self.put(&format!("/{name}"), Answer::Bytes(std::fs::read(&path).unwrap()));
                }
            }
        }
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn response(head: &str, answer: Answer) -> Vec<u8> {
    match answer {
        Answer::Bytes(bytes) => {
            let tag = format!("\"{}\"", milepost_model::Digest::of(&bytes).short());
            if head.contains(&format!("if-none-match: {tag}")) {
                return format!("HTTP/1.1 304 Not Modified\r\netag: {tag}\r\nconnection: close\r\n\r\n").into_bytes();
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\netag: {tag}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                bytes.len()
            );
            [head.into_bytes(), bytes].concat()
        }
        Answer::Cut(bytes) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", bytes.len() + 10);
            [head.into_bytes(), bytes].concat()
        }
        Answer::Redirect(to) => {
            format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .into_bytes()
        }
        Answer::ForToken { token, bytes, .. } if head.contains(&format!("authorization: bearer {token}\r")) => {
            response(head, Answer::Bytes(bytes))
        }
        Answer::ForToken { realm, .. } => {
            let asks = format!("Bearer realm=\"{realm}\",service=\"test\",scope=\"repository:team/shop:pull,push\"");
            let head = "HTTP/1.1 401 No\r\ncontent-length: 0\r\nconnection: close\r\nwww-authenticate: ";
            format!("{head}{asks}\r\n\r\n").into_bytes()
        }
        Answer::Status(status) => {
            format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
        }
    }
}
