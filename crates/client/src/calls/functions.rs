use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response};

use crate::http::NO_LIMIT;
use crate::{Client, ClientError};

/// A request to a function that bypasses the gateway.
#[derive(Debug, Clone, Default)]
pub struct FunctionCall {
    /// Any selector; the newest version if not set.
    pub version: Option<String>,
    pub method: String,
    /// The path and query that the function receives.
    pub path: String,
    /// Names and values. The content type is sent as is, other headers with a prefix, so that none
    /// of them is taken for a header of the API request.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// The function's response. The body is not read yet.
pub struct FunctionAnswer {
    pub status: u16,
    /// The number of the version that ran.
    pub version: Option<String>,
    pub request: Option<String>,
    response: Response,
}

impl FunctionAnswer {
    /// The headers of the function's response, without those of the connection and of the API.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .filter(|(name, _)| !name.starts_with("milepost-") && *name != "transfer-encoding" && *name != "connection")
    }

    /// The next chunk of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        self.response.chunk().await.map_err(ClientError::Broken)
    }
}

impl Client {
    /// Calls a version of a function. A status of 500 from the function is a response; an error
    /// means that the function could not run.
    pub async fn function_call(
        &self,
        app: &str,
        function: &str,
        call: &FunctionCall,
    ) -> Result<FunctionAnswer, ClientError> {
        let mut query = vec![("method", call.method.as_str()), ("path", call.path.as_str())];
        query.extend(call.version.as_deref().map(|version| ("version", version)));
        // The function has its own timeout, which the server enforces.
        let mut request =
            self.request(Method::POST, &["apps", app, "functions", function, "call"]).query(&query).timeout(NO_LIMIT);
        for (name, value) in &call.headers {
            request = if name.eq_ignore_ascii_case(CONTENT_TYPE.as_str()) {
                request.header(CONTENT_TYPE, value)
            } else {
                request.header(format!("milepost-header-{name}"), value)
            };
        }
        let response = self.send(request.body(call.body.clone())).await?;
        let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        let status =
            header("milepost-status").and_then(|status| status.parse().ok()).ok_or_else(|| ClientError::Protocol {
                status: response.status().as_u16(),
                what: "there is no `milepost-status`".to_owned(),
            })?;
        Ok(FunctionAnswer {
            status,
            version: header("milepost-version"),
            request: header("milepost-request-id"),
            response,
        })
    }
}
