//! The canonical form: RFC 8785 JSON under a format number. Everything that affects behaviour is in it and nothing
//! else, so equal behaviour has equal digests.

use serde::Serialize;
use serde_json::{Value, json};

use crate::digest::Digest;
use crate::kind::UnitKind;

/// Raised only when the meaning of an existing field changes. A new field does not need it: fields that have their
/// default value are left out of the form, so a newer Milepost gives old content its old digest.
pub const FORMAT: u32 = 1;

/// Canonical bytes of any value.
#[expect(
    clippy::expect_used,
    reason = "serialising plain data into memory has no way to fail: keys are strings, numbers are finite"
)]
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("plain data serialises")
}

/// The canonical bytes of a unit's content.
pub fn content_bytes(kind: UnitKind, behaviour: &Value) -> Vec<u8> {
    to_bytes(&json!({ "format": FORMAT, "kind": kind, "spec": behaviour }))
}

pub fn content_digest(kind: UnitKind, behaviour: &Value) -> Digest {
    Digest::of(&content_bytes(kind, behaviour))
}
