//! Responses of the gateway itself: problem JSON for programs, a page for browsers, plain text for
//! other clients.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use crate::body::ResponseBody;
use crate::weights::weighted;

pub(crate) const MILEPOST_RELEASE: HeaderName = HeaderName::from_static("milepost-release");
pub(crate) const MILEPOST_VERSION: HeaderName = HeaderName::from_static("milepost-version");
pub(crate) const MILEPOST_REQUEST_ID: HeaderName = HeaderName::from_static("milepost-request-id");
pub(crate) const MILEPOST_CALL: HeaderName = HeaderName::from_static("milepost-call");

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Why a request was not served.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// A stable identifier.
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
    pub(crate) request_id: Option<Box<str>>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemJson<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'p str,
    status: u16,
    code: &'p str,
    detail: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'p str>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), hint: None, request_id: None, headers: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn request_id(mut self, id: Box<str>) -> Self {
        if let Ok(value) = HeaderValue::from_str(&id) {
            self.headers.push((MILEPOST_REQUEST_ID, value));
        }
        self.request_id = Some(id);
        self
    }

    /// Renders the problem in the format that the client accepts.
    pub(crate) fn into_response<B>(self, accept: &HeaderMap, head_only: bool) -> Response<ResponseBody<B>> {
        let form = Form::wanted(accept);
        let (content_type, body) = match form {
            Form::Json => ("application/problem+json", self.json()),
            Form::Page => ("text/html; charset=utf-8", self.page()),
            Form::Text => ("text/plain; charset=utf-8", self.text()),
        };
        let length = body.len();
        let body = if head_only { ResponseBody::empty() } else { ResponseBody::bytes(Bytes::from(body)) };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        if head_only {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        headers.extend(self.headers.into_iter().map(|(name, value)| (Some(name), value)));
        response
    }

    fn title(&self) -> &'static str {
        self.status.canonical_reason().unwrap_or("Error")
    }

    fn json(&self) -> String {
        let problem = ProblemJson {
            kind: "about:blank",
            title: self.title(),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            hint: self.hint.as_deref(),
            request_id: self.request_id.as_deref(),
        };
        serde_json::to_string(&problem).unwrap_or_default()
    }

    fn text(&self) -> String {
        let mut text = format!("{} {}: {}\n", self.status.as_u16(), self.title(), self.detail);
        for (name, line) in [("hint", self.hint.as_deref()), ("request", self.request_id.as_deref())] {
            if let Some(line) = line {
                let _ = writeln!(text, "{name}: {line}");
            }
        }
        text
    }

    fn page(&self) -> String {
        let hint = self.hint.as_deref().map(|hint| format!("<p class=hint>{}</p>", escape(hint))).unwrap_or_default();
        let id = self.request_id.as_deref().map(|id| format!("<p class=id>request {}</p>", escape(id)));
        format!(
            "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
             <title>{status} {title}</title><style>{STYLE}</style>\
             <main><h1>{status}</h1><p>{detail}</p>{hint}{id}</main></html>\n",
            status = self.status.as_u16(),
            title = self.title(),
            detail = escape(&self.detail),
            id = id.unwrap_or_default(),
        )
    }
}

const STYLE: &str = ":root{color-scheme:light dark}\
    body{font:1rem/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center;\
    background:light-dark(#fafafa,#161616);color:light-dark(#222,#ddd)}\
    main{max-width:34rem;padding:2rem}h1{font-size:3rem;margin:0;font-weight:600}\
    .hint{color:light-dark(#555,#aaa)}.id{font:.8rem ui-monospace,monospace;color:light-dark(#777,#888)}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Page,
    Text,
}

impl Form {
    fn wanted(headers: &HeaderMap) -> Self {
        let (mut json, mut page) = (0, 0);
        for (name, weight) in weighted(headers, header::ACCEPT) {
            match name.to_ascii_lowercase().as_str() {
                "text/html" | "application/xhtml+xml" => page = page.max(weight),
                name if name == "application/*" || name == "application/json" || name.ends_with("+json") => {
                    json = json.max(weight);
                }
                _ => {}
            }
        }
        if page > 0 && page >= json {
            Self::Page
        } else if json > 0 {
            Self::Json
        } else {
            Self::Text
        }
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &'static str) -> Form {
        Form::wanted(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]))
    }

    #[test]
    fn format_follows_the_accept_header() {
        assert_eq!(wanted("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), Form::Page);
        assert_eq!(wanted("application/json"), Form::Json);
        assert_eq!(wanted("application/problem+json, text/html;q=0.5"), Form::Json);
        assert_eq!(wanted("application/json;q=0.1, text/html;q=0.5"), Form::Page);
        assert_eq!(wanted("*/*"), Form::Text);
        assert_eq!(wanted("text/html;q=0"), Form::Text);
        assert_eq!(Form::wanted(&HeaderMap::new()), Form::Text);
    }

    #[test]
    fn page_escapes_markup() {
        let problem = Problem::new(StatusCode::NOT_FOUND, "x", "<script>'\"&").hint("<b>");
        let page = problem.page();
        assert!(page.contains("&lt;script&gt;&#39;&quot;&amp;") && page.contains("&lt;b&gt;"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    }
}
