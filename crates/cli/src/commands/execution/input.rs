//! Execution inputs from the command line.

use std::io::Read;
use std::path::Path;

use milepost_model::RawJson;
use milepost_model::execution::MAX_INPUT;

use crate::failure::{Failure, Result};

/// Reads JSON, `@FILE`, or `-` for stdin.
pub fn read_input(given: Option<&str>) -> Result<Option<RawJson>> {
    let Some(given) = given else { return Ok(None) };
    let text = match given.strip_prefix('@').unwrap_or(if given == "-" { "-" } else { "" }) {
        "-" => {
            let mut text = String::new();
            // Bounds the memory: the server refuses larger inputs anyway.
            std::io::stdin().take(MAX_INPUT as u64 * 8).read_to_string(&mut text)?;
            text
        }
        "" => given.to_owned(),
        file => std::fs::read_to_string(file).map_err(|error| Failure::unreadable(Path::new(file), &error))?,
    };
    let value = RawJson::parse(text).map_err(|error| {
        Failure::usage(format!("the input is not JSON: {error}"))
            .hint("write it like '{\"name\": \"x\"}'; a string needs its own quotes, like '\"x\"'")
    })?;
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_must_be_json_and_is_sent_verbatim() {
        let sent = r#"{"z": 123456789012345678901234567890, "a": 0.10}"#;
        assert_eq!(read_input(Some(sent)).expect("JSON").expect("something").as_str(), sent, "verbatim");
        assert_eq!(read_input(None).expect("nothing"), None);
        assert!(read_input(Some("hello")).expect_err("a bare word").message().contains("not JSON"));
    }
}
