//! The wire format of the protocol between the server and a worker, version 2.
//! `docs/decisions/005-runtime.md` describes it.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use crate::call::{CallContext, Thrown};

pub(crate) const PROTOCOL: u32 = 2;
pub(crate) const HEADER: usize = 16;
/// Flag: the body is complete.
pub(crate) const END: u8 = 1;
/// Limit on a response head from a worker.
pub(crate) const MAX_HEAD: usize = 64 << 10;
/// Limit on a document from a worker: `ready`, `failed`, `error`.
pub(crate) const MAX_DOCUMENT: usize = 1 << 20;

pub(crate) const INIT: u8 = 1;
pub(crate) const READY: u8 = 2;
pub(crate) const FAILED: u8 = 3;
pub(crate) const REQUEST: u8 = 4;
pub(crate) const BODY: u8 = 5;
pub(crate) const RESPONSE: u8 = 6;
pub(crate) const ERROR: u8 = 7;
pub(crate) const CANCEL: u8 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub length: usize,
    pub kind: u8,
    pub end: bool,
    /// The request that the frame belongs to. 0 in the handshake.
    pub id: u64,
}

impl FrameHeader {
    pub fn encode(kind: u8, end: bool, length: usize, id: u64) -> Option<[u8; HEADER]> {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&u32::try_from(length).ok()?.to_le_bytes());
        header[4] = kind;
        header[5] = if end { END } else { 0 };
        header[8..].copy_from_slice(&id.to_le_bytes());
        Some(header)
    }

    pub fn peek(from: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = from.first_chunk()?;
        let [l0, l1, l2, l3, kind, flags, _, _, i0, i1, i2, i3, i4, i5, i6, i7] = *header;
        Some(Self {
            length: u32::from_le_bytes([l0, l1, l2, l3]) as usize,
            kind,
            end: flags & END != 0,
            id: u64::from_le_bytes([i0, i1, i2, i3, i4, i5, i6, i7]),
        })
    }
}

/// The part of a request's body that is in the request's own frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Follows {
    pub length: usize,
    /// The body ends here.
    pub end: bool,
}

/// Encodes a request frame up to the first bytes of its body. Returns false if the head does not
/// fit into a frame.
pub(crate) fn encode_request(
    out: &mut Vec<u8>,
    head: &http::request::Parts,
    context: &CallContext,
    deadline_ms: u128,
    body: Follows,
    id: u64,
) -> bool {
    out.clear();
    out.extend_from_slice(&[0; HEADER + 4]);
    out.extend_from_slice(head.method.as_str().as_bytes());
    out.push(0);
    out.extend_from_slice(head.uri.path_and_query().map_or("/", |target| target.as_str()).as_bytes());
    for (name, value) in &head.headers {
        out.push(0);
        out.extend_from_slice(name.as_str().as_bytes());
        out.push(0);
        out.extend_from_slice(value.as_bytes());
    }
    fact(out, "id", &context.request_id);
    fact(out, "release", &context.release);
    fact(out, "call", &context.call_token);
    fact(out, "route", &context.route);
    if let Some(client) = context.client {
        use std::io::Write as _;
        out.extend_from_slice(b"\0:client\0");
        // Writing into memory does not fail.
        let _ = write!(out, "{client}");
    }
    {
        use std::io::Write as _;
        out.extend_from_slice(b"\0:deadline\0");
        let _ = write!(out, "{deadline_ms}");
    }
    for (name, value) in &context.params {
        named(out, "param.", name, value);
    }
    let text = out.len() - HEADER - 4;
    let (Some(header), Ok(length)) =
        (FrameHeader::encode(REQUEST, body.end, 4 + text + body.length, id), u32::try_from(text))
    else {
        return false;
    };
    out[..HEADER].copy_from_slice(&header);
    out[HEADER..HEADER + 4].copy_from_slice(&length.to_le_bytes());
    true
}

/// Omits empty values.
fn fact(out: &mut Vec<u8>, name: &str, value: &str) {
    if !value.is_empty() {
        named(out, "", name, value);
    }
}

/// Replaces NUL characters, so that a value (a path may contain `%00`) cannot begin a new field.
fn named(out: &mut Vec<u8>, prefix: &str, name: &str, value: &str) {
    out.extend_from_slice(b"\0:");
    for text in [prefix, name] {
        divided(out, text);
    }
    out.push(0);
    divided(out, value);
}

fn divided(out: &mut Vec<u8>, text: &str) {
    for (at, piece) in text.split('\0').enumerate() {
        if at > 0 {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
        out.extend_from_slice(piece.as_bytes());
    }
}

/// Decodes a response head.
pub(crate) fn decode_response(head: &Bytes) -> Result<(StatusCode, HeaderMap), String> {
    let mut fields = Fields { text: head, at: 0 };
    let status = fields.next().unwrap_or_default();
    let status = StatusCode::from_bytes(&status)
        .ok()
        .filter(|status| (200..=599).contains(&status.as_u16()))
        .ok_or_else(|| format!("`{}` is not a status from 200 to 599", status.escape_ascii()))?;
    let mut headers = HeaderMap::with_capacity(8);
    while let Some(name) = fields.next() {
        let Some(value) = fields.next() else {
            if name.is_empty() {
                break;
            }
            return Err(format!("the header `{}` has no value", name.escape_ascii()));
        };
        let header = HeaderName::from_bytes(&name)
            .map_err(|_| format!("`{}` is not the name of a header", name.escape_ascii()))?;
        let value = HeaderValue::from_maybe_shared(value)
            .map_err(|_| format!("the header `{header}` has a value that HTTP does not allow"))?;
        headers.try_append(header, value).map_err(|_| "it has too many headers".to_owned())?;
    }
    Ok((status, headers))
}

struct Fields<'a> {
    text: &'a Bytes,
    at: usize,
}

impl Iterator for Fields<'_> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let rest = self.text.get(self.at..)?;
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let field = self.text.slice(self.at..self.at + length);
        self.at += length + 1;
        Some(field)
    }
}

/// The worker's error when code cannot be loaded or threw. The worker also writes the trace to its
/// standard error.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Complaint {
    #[serde(default)]
    pub message: String,
    /// The exception's own text. Left out if it is the message.
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub exhausted: bool,
}

impl From<Complaint> for Thrown {
    fn from(complaint: Complaint) -> Self {
        let Complaint { message, text, exhausted } = complaint;
        Self { text: text.unwrap_or_else(|| message.clone()), message, exhausted }
    }
}

impl Complaint {
    pub fn read(payload: &[u8]) -> Self {
        serde_json::from_slice(payload)
            .unwrap_or_else(|_| Self { message: "the worker sent an invalid error".to_owned(), ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(request: http::request::Builder) -> http::request::Parts {
        request.body(()).unwrap().into_parts().0
    }

    fn fields(out: &[u8]) -> Vec<String> {
        let text = u32::from_le_bytes(out[HEADER..HEADER + 4].try_into().unwrap()) as usize;
        out[HEADER + 4..HEADER + 4 + text]
            .split(|byte| *byte == 0)
            .map(|field| String::from_utf8_lossy(field).into_owned())
            .collect()
    }

    #[test]
    fn encodes_a_request_with_nul_separators() {
        let parts = head(http::Request::put("/a?b=c").header("X-One", "1").header("x-one", "2"));
        let context = CallContext { request_id: "r1".into(), ..CallContext::default() };
        let mut out = Vec::new();
        let id = 0xfedc_ba98_7654_3210;
        assert!(encode_request(&mut out, &parts, &context, 5, Follows { length: 3, end: true }, id));
        assert_eq!(fields(&out), ["PUT", "/a?b=c", "x-one", "1", "x-one", "2", ":id", "r1", ":deadline", "5"]);
        let header = FrameHeader::peek(&out).unwrap();
        assert_eq!(header, FrameHeader { length: out.len() - HEADER + 3, kind: REQUEST, end: true, id });
    }

    #[test]
    fn a_nul_in_a_parameter_cannot_inject_a_header() {
        let parts = head(http::Request::get("/"));
        let params = vec![("id".into(), "a\0authorization\0admin".into())];
        let mut out = Vec::new();
        let context = CallContext { params, ..CallContext::default() };
        assert!(encode_request(&mut out, &parts, &context, 1, Follows { length: 0, end: true }, 1));
        assert_eq!(fields(&out).last().unwrap(), "a\u{fffd}authorization\u{fffd}admin");
    }

    #[test]
    fn a_response_keeps_repeated_headers_and_bytes_above_ascii() {
        let text = Bytes::from_static(b"201\0set-cookie\0a=1\0set-cookie\0b=2\0x-name\0caf\xe9\0x-empty\0");
        let (status, headers) = decode_response(&text).unwrap();
        assert_eq!(status, 201);
        assert_eq!(headers.get_all("set-cookie").iter().count(), 2);
        assert_eq!(headers["x-name"].as_bytes(), b"caf\xe9");
        assert_eq!(headers["x-empty"], "");
    }

    #[test]
    fn rejects_malformed_response_heads() {
        for (text, problem) in [
            ("", "not a status"),
            ("20", "not a status"),
            ("101", "not a status"),
            ("200\0a b\0c", "not the name"),
            ("200\0a\0b\nc", "does not allow"),
            ("200\0name", "has no value"),
        ] {
            let found = decode_response(&Bytes::from(text)).unwrap_err();
            assert!(found.contains(problem), "{text:?}: {found}");
        }
    }
}
