//! Responses of the gateway itself: problem JSON for programs, a page for visitors, plain text for
//! other clients.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use milepost_model::Next;
use serde::Serialize;

use crate::body::ResponseBody;
use crate::reader::{Form, Reader};
use crate::settings::OperatorWords;

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
    /// A whole sentence, for visitors.
    pub(crate) detail: String,
    /// What the caller can change.
    pub(crate) hint: Option<String>,
    /// What the operator of the app can do.
    pub(crate) operator: Option<Box<OperatorStep>>,
    pub(crate) request_id: Option<Box<str>>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// A step as data, which the host program phrases.
#[derive(Debug, Clone)]
pub(crate) struct OperatorStep {
    next: Next,
    app: Box<str>,
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
    hint: Option<String>,
    #[serde(skip_serializing_if = "<[Next]>::is_empty")]
    next: &'p [Next],
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'p str>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), hint: None, operator: None, request_id: None, headers: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn operator(mut self, app: &str, next: Next) -> Self {
        self.operator = Some(Box::new(OperatorStep { next, app: app.into() }));
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

    /// Renders the problem for its reader.
    pub(crate) fn into_response<B>(self, reader: &Reader, words: OperatorWords) -> Response<ResponseBody<B>> {
        let step = self.operator.as_deref().and_then(|step| words(&step.next, &step.app));
        let (content_type, body) = match reader.form {
            Form::Json => ("application/problem+json", self.json(step)),
            Form::Page => ("text/html; charset=utf-8", self.page(step.filter(|_| reader.is_local))),
            Form::Text => ("text/plain; charset=utf-8", self.text(step)),
        };
        let length = body.len();
        let body = if reader.head_only { ResponseBody::empty() } else { ResponseBody::bytes(Bytes::from(body)) };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        if reader.head_only {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        headers.extend(self.headers.into_iter().map(|(name, value)| (Some(name), value)));
        response
    }

    fn reason(&self) -> &'static str {
        self.status.canonical_reason().unwrap_or("Error")
    }

    /// The heading of the page.
    fn title(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => "Page not found",
            StatusCode::GONE => "No longer available",
            StatusCode::UNAUTHORIZED => "Authentication required",
            StatusCode::FORBIDDEN => "Access denied",
            status if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => "Temporarily unavailable",
            _ => self.reason(),
        }
    }

    /// The caller's step before the operator's, on one line.
    fn hints(&self, step: Option<String>) -> Option<String> {
        match (&self.hint, step) {
            (Some(hint), Some(step)) => Some(format!("{hint}; {step}")),
            (hint, step) => hint.clone().or(step),
        }
    }

    fn json(&self, step: Option<String>) -> String {
        let problem = ProblemJson {
            kind: "about:blank",
            title: self.reason(),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            hint: self.hints(step),
            next: self.operator.as_deref().map(|step| std::slice::from_ref(&step.next)).unwrap_or_default(),
            request_id: self.request_id.as_deref(),
        };
        serde_json::to_string(&problem).unwrap_or_default()
    }

    fn text(&self, step: Option<String>) -> String {
        let mut text = format!("{} {}: {}\n", self.status.as_u16(), self.reason(), self.detail);
        for (name, line) in [("hint", self.hints(step).as_deref()), ("request", self.request_id.as_deref())] {
            if let Some(line) = line {
                let _ = writeln!(text, "{name}: {line}");
            }
        }
        text
    }

    fn page(&self, step: Option<String>) -> String {
        let hint = self.hint.as_deref().map(|hint| format!("<p>{}</p>", escape(&sentence(hint)))).unwrap_or_default();
        let step = step.map(|step| format!("<p class=operator>{}</p>", marked(&sentence(&step)))).unwrap_or_default();
        let id = self.request_id.as_deref().map(|id| format!(", request {}", escape(id))).unwrap_or_default();
        format!(
            "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
             <title>{title}</title><style>{STYLE}</style>\
             <main><h1>{title}</h1><p>{detail}</p>{hint}{step}<p class=id>Status {status}{id}</p></main></html>\n",
            status = self.status.as_u16(),
            title = self.title(),
            detail = marked(&self.detail),
        )
    }
}

const STYLE: &str = ":root{color-scheme:light dark}\
    body{font:1rem/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center;\
    background:light-dark(#fafafa,#161616);color:light-dark(#222,#ddd)}\
    main{width:min(34rem,100vw - 4rem);padding:2rem;box-sizing:border-box}h1{font-size:2rem;margin:0;font-weight:600}\
    .operator{color:light-dark(#555,#aaa)}.id{font:.8rem ui-monospace,monospace;color:light-dark(#777,#888)}";

/// A capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Escapes markup, and shows what is in backticks as code.
fn marked(text: &str) -> String {
    let parts = text.split('`').map(escape).enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part });
    parts.collect()
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

    fn problem() -> Problem {
        let problem = Problem::new(StatusCode::NOT_FOUND, "x", "There is no `<script>'\"&`.").hint("try <b>");
        problem.operator("shop", Next::Deploy)
    }

    #[test]
    fn page_escapes_markup() {
        let page = problem().page(Some("run `<i>`".to_owned()));
        assert!(page.contains("<code>&lt;script&gt;&#39;&quot;&amp;</code>"), "{page}");
        assert!(page.contains("<p>Try &lt;b&gt;.</p>") && page.contains("Run <code>&lt;i&gt;</code>."), "{page}");
        assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("<i>"), "{page}");
    }

    #[test]
    fn steps_of_operators_are_data_and_phrased_by_the_host_program() {
        let words: OperatorWords = |next, app| Some(format!("{next:?} of {app}"));
        let step = problem().operator.and_then(|step| words(&step.next, &step.app));
        let json: serde_json::Value = serde_json::from_str(&problem().json(step.clone())).expect("JSON");
        assert_eq!(json["hint"], "try <b>; Deploy of shop");
        assert_eq!(json["next"][0]["step"], "deploy");
        assert!(problem().text(step).contains("hint: try <b>; Deploy of shop\n"));
    }
}
