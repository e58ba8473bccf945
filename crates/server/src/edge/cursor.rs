//! Pagination cursors. Opaque to clients and valid for one list and one day, so that their format
//! can change.

use data_encoding::BASE64URL_NOPAD;
use milepost_model::{Code, Refusal, Timestamp};
use serde::{Deserialize, Serialize};

const GOOD_FOR_MS: i64 = 24 * 3600 * 1000;

#[derive(Serialize, Deserialize)]
struct Cursor {
    list: String,
    at: String,
    issued: i64,
}

pub(crate) fn write(list: &str, at: &impl ToString, now: Timestamp) -> String {
    let cursor = Cursor { list: list.to_owned(), at: at.to_string(), issued: now.as_millisecond() };
    BASE64URL_NOPAD.encode(&serde_json::to_vec(&cursor).unwrap_or_default())
}

pub(crate) fn read(list: &str, text: &str, now: Timestamp) -> Result<String, Refusal> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| unknown())?;
    let cursor: Cursor = serde_json::from_slice(&bytes).map_err(|_| unknown())?;
    if cursor.list != list {
        return Err(wrong("belongs to another list"));
    }
    if now.as_millisecond().saturating_sub(cursor.issued) > GOOD_FOR_MS {
        return Err(wrong("has expired"));
    }
    Ok(cursor.at)
}

pub(crate) fn unknown() -> Refusal {
    wrong("is unknown to this server")
}

fn wrong(what: &str) -> Refusal {
    Refusal::new(Code::InvalidCursor, format!("the cursor {what}"))
        .correct("start again from the first page, without a cursor")
}
