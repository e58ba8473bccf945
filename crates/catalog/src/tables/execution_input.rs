//! The `input` column of an execution: its JSON, followed by a separator that JSON cannot contain
//! and the request headers.

use std::collections::BTreeMap;

use milepost_model::RawJson;

use crate::error::{CatalogError, Result};

/// The record separator of JSON text sequences (RFC 7464). Valid JSON never contains it unescaped.
const SEPARATOR: char = '\u{1e}';

pub(crate) fn join(input: Option<&RawJson>, headers: &BTreeMap<String, String>) -> Option<String> {
    if headers.is_empty() {
        return input.map(RawJson::to_string);
    }
    let headers = serde_json::to_string(headers).unwrap_or_default();
    Some(format!("{}{SEPARATOR}{headers}", input.map_or("", RawJson::as_str)))
}

pub(crate) fn split(column: Option<String>) -> Result<(Option<RawJson>, BTreeMap<String, String>)> {
    let Some(mut input) = column else { return Ok((None, BTreeMap::new())) };
    let wrong = |error: serde_json::Error| CatalogError::inconsistent(format!("input of an execution: {error}"));
    let headers = match input.find(SEPARATOR) {
        Some(at) => {
            let headers = serde_json::from_str(&input[at + 1..]).map_err(wrong)?;
            input.truncate(at);
            headers
        }
        None => BTreeMap::new(),
    };
    let input = if input.is_empty() { None } else { Some(RawJson::parse(input).map_err(wrong)?) };
    Ok((input, headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_and_headers_round_trip() {
        let input = RawJson::parse(r#"{"a": "\u001e", "b": 1e999}"#.to_owned()).expect("JSON");
        let some = BTreeMap::from([("x-github-event".to_owned(), "push \u{1e}".to_owned())]);
        for (input, headers) in
            [(None, BTreeMap::new()), (Some(input.clone()), BTreeMap::new()), (None, some.clone()), (Some(input), some)]
        {
            let joined = join(input.as_ref(), &headers);
            assert_eq!(split(joined).expect("it is whole"), (input, headers));
        }
        assert!(split(Some("{}\u{1e}{".to_owned())).is_err());
    }
}
