use bytes::{Bytes, BytesMut};
use milepost_model::Timestamp;
use reqwest::{Method, Response};

use crate::api::LogEntry;
use crate::http::NO_LIMIT;
use crate::{Client, ClientError};

/// The server cuts lines far below this length, so a longer line is not from a Milepost server.
const LONGEST_LINE: usize = 4 << 20;

/// Filters log lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogQuery {
    pub function: Option<String>,
    /// Any selector of a version of the function.
    pub version: Option<String>,
    pub request: Option<String>,
    pub since: Option<Timestamp>,
    /// Limits the lines that already exist to the newest ones; later lines are not counted.
    pub limit: Option<u64>,
    /// Whether the stream stays open for new lines.
    pub follow: bool,
}

impl LogQuery {
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        pairs.extend(self.function.clone().map(|function| ("function", function)));
        pairs.extend(self.version.clone().map(|version| ("version", version)));
        pairs.extend(self.request.clone().map(|request| ("request", request)));
        pairs.extend(self.since.map(|since| ("since", since.to_string())));
        pairs.extend(self.limit.map(|limit| ("limit", limit.to_string())));
        if self.follow {
            pairs.push(("follow", "true".to_owned()));
        }
        pairs
    }
}

/// Log lines as they arrive, oldest first.
pub struct LogStream {
    response: Response,
    buffer: BytesMut,
    ended: bool,
}

impl LogStream {
    /// The next line; `None` when the server has sent everything. Cancel-safe: dropping the future
    /// loses no line.
    pub async fn next(&mut self) -> Result<Option<LogEntry>, ClientError> {
        loop {
            if let Some(line) = self.take_line()? {
                if line.trim_ascii().is_empty() {
                    // The server sends empty lines to keep the connection open.
                    continue;
                }
                return read(&line).map(Some);
            }
            if self.ended {
                return Ok(None);
            }
            match self.response.chunk().await.map_err(ClientError::Broken)? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => self.ended = true,
            }
        }
    }

    fn take_line(&mut self) -> Result<Option<Bytes>, ClientError> {
        if let Some(at) = self.buffer.iter().position(|&byte| byte == b'\n') {
            return Ok(Some(self.buffer.split_to(at + 1).freeze()));
        }
        if self.buffer.len() > LONGEST_LINE {
            return Err(ClientError::Protocol { status: 200, what: "a log line without an end".to_owned() });
        }
        if self.ended && !self.buffer.is_empty() {
            return Ok(Some(self.buffer.split().freeze()));
        }
        Ok(None)
    }
}

fn read(line: &[u8]) -> Result<LogEntry, ClientError> {
    serde_json::from_slice(line).map_err(|error| ClientError::Protocol { status: 200, what: error.to_string() })
}

impl Client {
    pub async fn logs(&self, app: &str, query: &LogQuery) -> Result<LogStream, ClientError> {
        let request = self.request(Method::GET, &["apps", app, "logs"]).query(&query.pairs()).timeout(NO_LIMIT);
        Ok(LogStream { response: self.send(request).await?, buffer: BytesMut::new(), ended: false })
    }
}
