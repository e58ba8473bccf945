//! Ids, times, URLs, and names of units.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use milepost_catalog::V1Unit;
use milepost_model::{Timestamp, UnitKind, UnitName};
use serde_json::Value;

use super::fault::{Fault, V1Result};
use super::project::Project;
use crate::serving::urls::reached_host;
use crate::state::State;

/// The parameters of a path.
pub(crate) struct Path<T>(pub T);

impl<T: serde::de::DeserializeOwned + Send> FromRequestParts<State> for Path<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Fault> {
        let crate::edge::extract::Path(path) =
            crate::edge::extract::Path::<T>::from_request_parts(parts, state).await?;
        Ok(Self(path))
    }
}

pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(at, letter)| match at {
            8 | 13 | 18 | 23 => letter == '-',
            _ => letter.is_ascii_hexdigit(),
        })
}

/// Parses an id in a path. Rejects other text before any query.
pub(crate) fn id(text: &str) -> V1Result<String> {
    if is_uuid(text) {
        return Ok(text.to_ascii_lowercase());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Fault::bad(format!("Invalid input for field/attribute id. Value: '{shown}'. Value should be UUID format.")))
}

/// Parses a version in a path: a number from 0, or an id.
pub(crate) fn version(text: &str) -> V1Result<String> {
    let number = text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<i64>().is_ok();
    if number || is_uuid(text) {
        return Ok(text.to_ascii_lowercase());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Fault::bad(format!(
        "Invalid input for field/attribute version. Value: '{shown}'. Value should be a version number."
    )))
}

pub(crate) fn time(at: Timestamp) -> Value {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

pub(crate) fn opt_time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, time)
}

/// Parses a time in the usual notations. Times without a zone are UTC.
pub(crate) fn read_time(text: &str) -> V1Result<Timestamp> {
    let plain = text.trim().replacen(' ', "T", 1);
    let spellings = [plain.clone(), format!("{plain}Z"), format!("{plain}:00Z"), format!("{plain}T00:00:00Z")];
    let found = spellings.iter().find_map(|spelling| spelling.parse().ok());
    found.ok_or_else(|| Fault::bad(format!("'{text}' is not a time; write it like 2026-11-15T07:16:34.")))
}

/// This server's base URL, as the client sees it.
pub(crate) fn endpoint(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    let host = reached_host(headers).unwrap_or("localhost");
    format!("{scheme}://{host}")
}

/// The unit name for a v1 name: the same if it is valid, or a random one if it is not or is
/// `taken`.
pub(crate) fn unit_name(state: &State, kind: UnitKind, wanted: Option<&str>, taken: bool) -> V1Result<UnitName> {
    // Leaves room for package names, which are longer than their function's.
    let fits = wanted.filter(|name| !taken && name.len() <= 55).and_then(|name| UnitName::for_kind(kind, name).ok());
    if let Some(name) = fits {
        return Ok(name);
    }
    let mut bytes = [0u8; 6];
    state.catalog.ids().fill(&mut bytes);
    let random = data_encoding::BASE32_NOPAD.encode(&bytes).to_lowercase();
    let letters = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let stem: String = wanted.unwrap_or_default().chars().take(32).map(letters).collect();
    let stem = stem.trim_matches('-');
    let stem = if stem.is_empty() { kind.as_str() } else { stem };
    Ok(UnitName::for_kind(kind, &format!("{stem}-{random}")).map_err(milepost_model::Refusal::from)?)
}

/// Finds a function or runtime by id. Those of other projects are found only if the caller can see
/// all projects, or the runtime is public.
pub(crate) async fn unit(state: &State, project: &Project, kind: UnitKind, id: &str) -> V1Result<V1Unit> {
    let what = if kind == UnitKind::Environment { "Runtime" } else { "Function" };
    let found = state.catalog.v1_find(self::id(id)?).await?;
    let public = |unit: &V1Unit| kind == UnitKind::Environment && unit.facts["is_public"] == true;
    found
        .filter(|unit| unit.kind == kind && (project.sees(&unit.app) || public(unit)))
        .ok_or_else(|| Fault::unknown(what, "id", id))
}

/// Like [`unit()`], for writing: only the project's own. See also [`owned`].
pub(crate) async fn own_unit(state: &State, project: &Project, kind: UnitKind, id: &str) -> V1Result<V1Unit> {
    let what = if kind == UnitKind::Environment { "Runtime" } else { "Function" };
    let found = unit(state, project, kind, id).await?;
    if found.app == project.name { Ok(found) } else { Err(Fault::unknown(what, "id", id)) }
}

/// Like [`own_unit`], for deleting a function. v1 has a separate message for callers that can see
/// the function but do not own it.
pub(crate) async fn owned(state: &State, project: &Project, id: &str) -> V1Result<V1Unit> {
    let found = unit(state, project, UnitKind::Function, id).await?;
    if found.app == project.name {
        Ok(found)
    } else {
        Err(Fault::forbidden("Function can only be deleted by its owner."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validates_ids_and_versions() {
        assert!(id("0191a0b2-0000-7000-8000-0123456789AB").is_ok());
        for wrong in ["", "1", "0191a0b2-0000-7000-8000-0123456789a", "0191a0b2-0000-7000-8000-0123456789zz"] {
            assert!(id(wrong).is_err(), "{wrong}");
        }
        assert!(version("0").is_ok() && version("17").is_ok());
        assert!(version("-1").is_err() && version("v1").is_err() && version("99999999999999999999").is_err());
    }

    #[test]
    fn parses_times_in_usual_notations() {
        let wanted: Timestamp = "2026-11-15T07:16:34Z".parse().expect("a time");
        for text in ["2026-11-15T07:16:34Z", "2026-11-15 07:16:34", "2026-11-15T07:16:34"] {
            assert_eq!(read_time(text).expect("a time"), wanted);
        }
        assert!(read_time("2026-11-15 07:16").is_ok());
        assert!(read_time("tomorrow").is_err());
        assert_eq!(time(wanted), "2026-11-15T07:16:34Z");
    }
}
