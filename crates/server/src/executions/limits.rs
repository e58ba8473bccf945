//! Limits of what a request stores with an execution, a job or a webhook.

use milepost_model::execution::{MAX_DEPTH, MAX_INPUT, MAX_STORED_INPUT};
use milepost_model::{Code, RawJson, Refusal};

const MAX_DESCRIPTION: usize = 4 << 10;

/// Limits inputs, because they are stored in the database and returned in lists.
pub(crate) fn check_input(input: Option<&RawJson>) -> Result<(), Refusal> {
    let Some(input) = input else { return Ok(()) };
    let json = input.as_str().len();
    // The sender of a text does not know its length as JSON.
    let length = if json > MAX_INPUT { input.to_text().map_or(json, |text| text.len()) } else { json };
    check_length(length, MAX_INPUT)?;
    check_form(input)
}

/// For inputs whose size was checked on receipt, before they were converted to JSON.
pub(crate) fn check_form(input: &RawJson) -> Result<(), Refusal> {
    check_length(input.as_str().len(), MAX_STORED_INPUT)?;
    if input.depth() > MAX_DEPTH {
        let message = format!("the input is nested more than {MAX_DEPTH} levels deep");
        return Err(Refusal::new(Code::InvalidRequest, message).correct("send the deepest part as text"));
    }
    Ok(())
}

pub(crate) fn check_length(length: usize, most: usize) -> Result<(), Refusal> {
    if length <= most {
        return Ok(());
    }
    let message = format!("the input has {length} bytes, and the limit is {most} ({} MiB)", most >> 20);
    Err(Refusal::new(Code::RequestTooLarge, message)
        .correct("store the input elsewhere, and give the function its address")
        .limit(most as u64, length as u64))
}

pub(crate) fn check_text(what: &str, text: &str) -> Result<(), Refusal> {
    if text.len() <= MAX_DESCRIPTION {
        return Ok(());
    }
    let message = format!("the {what} has {} bytes, and the limit is {MAX_DESCRIPTION}", text.len());
    Err(Refusal::new(Code::InvalidRequest, message)
        .correct("shorten it")
        .limit(MAX_DESCRIPTION as u64, text.len() as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_texts_by_their_own_length_and_others_as_json() {
        let text = |letter: &str, length: usize| RawJson::from(letter.repeat(length).as_str());
        for letter in ["x", "\n", "\u{1}"] {
            assert_eq!(check_input(Some(&text(letter, MAX_INPUT))), Ok(()), "{letter:?}");
            let refused = check_input(Some(&text(letter, MAX_INPUT + 1))).expect_err("one too many");
            assert_eq!(refused.message, "the input has 1048577 bytes, and the limit is 1048576 (1 MiB)");
        }
        let list = |length: usize| RawJson::from(json!(["x".repeat(length - 4)]));
        assert_eq!(check_input(Some(&list(MAX_INPUT))), Ok(()));
        assert!(check_input(Some(&list(MAX_INPUT + 1))).is_err());
        assert_eq!(check_form(&list(MAX_STORED_INPUT)), Ok(()));
        assert!(check_form(&list(MAX_STORED_INPUT + 1)).is_err());
    }
}
