//! Ids, times, addresses, and names for units.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use milepost_catalog::V1Unit;
use milepost_model::{Timestamp, UnitKind, UnitName};
use serde_json::Value;

use super::fault::{Fault, V1Result};
use super::project::Project;
use crate::state::State;
use crate::urls::reached_host;

/// The names in a path.
pub(crate) struct Path<T>(pub T);

impl<T: serde::de::DeserializeOwned + Send> FromRequestParts<State> for Path<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Fault> {
        let crate::extract::Path(path) = crate::extract::Path::<T>::from_request_parts(parts, state).await?;
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

/// An id in a path; anything else is refused before anybody is asked.
pub(crate) fn id(text: &str) -> V1Result<String> {
    if is_uuid(text) {
        return Ok(text.to_ascii_lowercase());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Fault::bad(format!("Invalid input for field/attribute id. Value: '{shown}'. Value should be UUID format.")))
}

/// A version in a path: a number from 0, or an id.
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

/// Times as people write them; without a zone they are UTC.
pub(crate) fn read_time(text: &str) -> V1Result<Timestamp> {
    let plain = text.trim().replacen(' ', "T", 1);
    let spellings = [plain.clone(), format!("{plain}Z"), format!("{plain}:00Z"), format!("{plain}T00:00:00Z")];
    let found = spellings.iter().find_map(|spelling| spelling.parse().ok());
    found.ok_or_else(|| Fault::bad(format!("'{text}' is not a time; write it like 2026-11-15T07:16:34.")))
}

/// Where this server is, as the one who asks sees it.
pub(crate) fn endpoint(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    let host = reached_host(headers).unwrap_or("localhost");
    format!("{scheme}://{host}")
}

/// A name of a unit that stands for a name of v1: the same where it can be, and where `taken` one that nobody has.
pub(crate) fn unit_name(state: &State, kind: UnitKind, wanted: Option<&str>, taken: bool) -> V1Result<UnitName> {
    // Packages get a longer name than their function.
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

/// A function or a runtime with this id. One of another project is there only for those who see all projects.
pub(crate) async fn unit(state: &State, project: &Project, kind: UnitKind, id: &str) -> V1Result<V1Unit> {
    let what = if kind == UnitKind::Environment { "Runtime" } else { "Function" };
    let found = state.catalog.v1_find(self::id(id)?).await?;
    let public = |unit: &V1Unit| kind == UnitKind::Environment && unit.facts["is_public"] == true;
    found
        .filter(|unit| unit.kind == kind && (project.sees(&unit.app) || public(unit)))
        .ok_or_else(|| Fault::unknown(what, "id", id))
}

/// The same, for writing: only the project's own. See also [`owned`].
pub(crate) async fn own_unit(state: &State, project: &Project, kind: UnitKind, id: &str) -> V1Result<V1Unit> {
    let what = if kind == UnitKind::Environment { "Runtime" } else { "Function" };
    let found = unit(state, project, kind, id).await?;
    if found.app == project.name { Ok(found) } else { Err(Fault::unknown(what, "id", id)) }
}

/// The same, for deleting a function, where the interface has words for those who see one that is not theirs.
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
    fn ids_and_versions_are_what_they_should_be() {
        assert!(id("0191a0b2-0000-7000-8000-0123456789AB").is_ok());
        for wrong in ["", "1", "0191a0b2-0000-7000-8000-0123456789a", "0191a0b2-0000-7000-8000-0123456789zz"] {
            assert!(id(wrong).is_err(), "{wrong}");
        }
        assert!(version("0").is_ok() && version("17").is_ok());
        assert!(version("-1").is_err() && version("v1").is_err() && version("99999999999999999999").is_err());
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let wanted: Timestamp = "2026-11-15T07:16:34Z".parse().expect("a time");
        for text in ["2026-11-15T07:16:34Z", "2026-11-15 07:16:34", "2026-11-15T07:16:34"] {
            assert_eq!(read_time(text).expect("a time"), wanted);
        }
        assert!(read_time("2026-11-15 07:16").is_ok());
        assert!(read_time("tomorrow").is_err());
        assert_eq!(time(wanted), "2026-11-15T07:16:34Z");
    }
}
