//! The function's input from a webhook call: the body, or the query if there is no body.

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use milepost_model::{Code, RawJson, Refusal};
use serde_json::{Map, Value};

/// JSON stays as it is, a form or a query becomes an object, and other text a string.
pub(super) fn input_of(headers: &HeaderMap, query: Option<&str>, body: &[u8]) -> Result<Option<RawJson>, Refusal> {
    if body.is_empty() {
        return Ok(query.filter(|query| !query.is_empty()).map(|query| pairs(query.as_bytes()).into()));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/json" || kind.ends_with("+json") {
        return json(body)
            .map(Some)
            .map_err(|why| invalid(&format!("the body is declared as JSON and is not valid: {why}")));
    }
    // `curl -d '{…}'` declares a form. No real form begins like this.
    let looks_like_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    if looks_like_json && let Ok(value) = json(body) {
        return Ok(Some(value));
    }
    if kind == "application/x-www-form-urlencoded" {
        return Ok(Some(pairs(body).into()));
    }
    match std::str::from_utf8(body) {
        Ok(text) => Ok(Some(text.into())),
        Err(_) => Err(invalid("the body is neither JSON, nor a form, nor text")),
    }
}

fn json(body: &[u8]) -> Result<RawJson, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    RawJson::parse(text.to_owned()).map_err(|error| error.to_string())
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(Code::InvalidRequest, message).correct("send JSON with `content-type: application/json`")
}

/// Repeated names become a list.
fn pairs(encoded: &[u8]) -> Value {
    let mut found: Map<String, Value> = Map::new();
    for pair in encoded.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let (name, value) = (decoded(&pair[..at]), decoded(pair.get(at + 1..).unwrap_or_default()));
        match found.get_mut(&name) {
            None => drop(found.insert(name, value.into())),
            Some(Value::Array(all)) => all.push(value.into()),
            Some(one) => *one = Value::Array(vec![one.take(), value.into()]),
        }
    }
    Value::Object(found)
}

fn decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        match (code, first) {
            (Some(code), _) => {
                bytes.push(code);
                rest = &after[2..];
            }
            (None, b'+') => {
                bytes.push(b' ');
                rest = after;
            }
            (None, other) => {
                bytes.push(*other);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(kind: &str, query: Option<&str>, body: &str) -> Result<Option<Value>, Refusal> {
        let mut headers = HeaderMap::new();
        if !kind.is_empty() {
            headers.insert(CONTENT_TYPE, kind.parse().expect("a header"));
        }
        Ok(input_of(&headers, query, body.as_bytes())?.map(|input| input.to_value()))
    }

    #[test]
    fn parses_bodies_by_content_type() {
        let ok = |kind, body| input(kind, Some("q=1"), body).expect("an input");
        assert_eq!(ok("application/json; charset=utf-8", r#"{"a": [1]}"#), Some(json!({ "a": [1] })));
        assert_eq!(ok("application/vnd.x+json", "7"), Some(json!(7)));
        assert_eq!(ok("text/plain", "12"), Some(json!("12")));
        assert_eq!(ok("", "hello"), Some(json!("hello")));
        let form = "application/x-www-form-urlencoded";
        assert_eq!(
            ok(form, "a=1+2&b=%C3%BC&a=3&c&=&a=4%"),
            Some(json!({ "a": ["1 2", "3", "4%"], "b": "ü", "c": "", "": "" }))
        );
        assert_eq!(ok(form, r#" {"a": 1}"#), Some(json!({ "a": 1 })), "what `curl -d` sends");
        assert_eq!(ok(form, "{a=1"), Some(json!({ "{a": "1" })));
    }

    #[test]
    fn json_is_passed_on_unchanged() {
        let body = r#"{"z": 123456789012345678901234567890, "a": 0.10, "b": 1e999}"#;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, "application/json".parse().expect("a header"))]);
        let input = input_of(&headers, None, body.as_bytes()).expect("JSON").expect("something");
        assert_eq!(input.as_str(), body);
    }

    #[test]
    fn uses_the_query_without_a_body() {
        assert_eq!(input("", Some("a=1&b=x%20y"), ""), Ok(Some(json!({ "a": "1", "b": "x y" }))));
        assert_eq!(input("application/json", None, ""), Ok(None));
        assert_eq!(input("", Some(""), ""), Ok(None));
    }

    #[test]
    fn rejects_bodies_that_do_not_match_their_type() {
        assert_eq!(input("application/json", None, "{broken").expect_err("not JSON").code, Code::InvalidRequest);
        let headers = HeaderMap::new();
        assert!(input_of(&headers, None, &[0xff, 0xfe]).is_err());
    }
}
