use bytes::BytesMut;
use futures::stream::{self, Stream};
use milepost_model::build::{Build, BuildEvent, BuildRequest};
use reqwest::{Method, Response};

use super::paging;
use crate::api::Page;
use crate::http::NO_LIMIT;
use crate::{Client, ClientError};

/// The server cuts lines far below this length, so a longer line is not from a Milepost server.
const LONGEST_LINE: usize = 4 << 20;

impl Client {
    /// Builds a package whose source is on the server. Dropping the stream cancels the build. The
    /// last event is `done` or `failed`; a stream that ends without one is an error.
    pub async fn build(
        &self,
        app: &str,
        request: &BuildRequest,
    ) -> Result<impl Stream<Item = Result<BuildEvent, ClientError>> + Send + use<>, ClientError> {
        let asked = self.request(Method::POST, &["apps", app, "builds"]).json(request).timeout(NO_LIMIT);
        let lines = Lines { response: self.send(asked).await?, buffer: BytesMut::new(), over: false };
        Ok(Box::pin(stream::unfold(lines, |mut lines| async move {
            let event = lines.next().await?;
            Some((event, lines))
        })))
    }

    pub async fn build_list(&self, app: &str, limit: i64, cursor: Option<&str>) -> Result<Page<Build>, ClientError> {
        self.json(self.request(Method::GET, &["apps", app, "builds"]).query(&paging(limit, cursor))).await
    }

    pub async fn build_get(&self, app: &str, build: &str) -> Result<Build, ClientError> {
        self.get(&["apps", app, "builds", build]).await
    }

    /// Streams the log of a build.
    pub async fn build_log(&self, app: &str, build: &str) -> Result<Response, ClientError> {
        self.send(self.request(Method::GET, &["apps", app, "builds", build, "log"]).timeout(NO_LIMIT)).await
    }
}

struct Lines {
    response: Response,
    buffer: BytesMut,
    /// The last event or an error was returned.
    over: bool,
}

impl Lines {
    async fn next(&mut self) -> Option<Result<BuildEvent, ClientError>> {
        if self.over {
            return None;
        }
        let event = self.read().await;
        self.over = matches!(event, Err(_) | Ok(BuildEvent::Done { .. } | BuildEvent::Failed { .. }));
        Some(event)
    }

    async fn read(&mut self) -> Result<BuildEvent, ClientError> {
        loop {
            while let Some(at) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line = self.buffer.split_to(at + 1);
                // The server sends empty lines to keep the connection open.
                if !line.trim_ascii().is_empty() {
                    return serde_json::from_slice(&line).map_err(|error| wrong(&error.to_string()));
                }
            }
            if self.buffer.len() > LONGEST_LINE {
                return Err(wrong("a line without an end"));
            }
            match self.response.chunk().await.map_err(ClientError::Broken)? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Err(wrong("a build without an end")),
            }
        }
    }
}

fn wrong(what: &str) -> ClientError {
    ClientError::Protocol { status: 200, what: what.to_owned() }
}
