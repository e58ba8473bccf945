//! Secrets in a change, which are compared by fingerprint.

use milepost_model::change::Change;
use milepost_model::spec::SecretSpec;
use milepost_model::unit_put::Put;
use milepost_model::{Digest, UnitKind, UnitPut, UnitSpec, canonical};

use super::{ChangeInput, Draft, SealedSecret};

/// Returns the digest that the new value of a secret would have had before re-keying, to compare it
/// with old versions.
pub(super) fn former_digest(draft: &Draft<'_>, put: &Put) -> Option<Digest> {
    let secret = draft.secrets.get(&put.name).filter(|_| put.unit.kind() == UnitKind::Secret)?;
    Some(UnitSpec::Secret(SecretSpec { fingerprint: secret.former_fingerprint }).digest())
}

/// Returns the digest that a resent change must match. Secrets contribute their fingerprints: the
/// request itself is never stored.
pub(super) fn request_digest(input: &ChangeInput) -> Digest {
    digest(input, |secret| secret.fingerprint)
}

/// Reports whether an earlier request was the same, including one that an older program recorded.
pub(super) fn is_same_request(input: &ChangeInput, earlier: Digest) -> bool {
    earlier == request_digest(input)
        || (!input.secrets.is_empty() && earlier == digest(input, |secret| secret.former_fingerprint))
}

fn digest(input: &ChangeInput, fingerprint: impl Fn(&SealedSecret) -> Digest) -> Digest {
    let mut change: Change = input.change.clone();
    for put in &mut change.puts {
        if let UnitPut::Secret(secret) = &mut put.unit {
            secret.value =
                input.secrets.get(&put.name).map_or_else(String::new, |sealed| fingerprint(sealed).to_string());
        }
    }
    Digest::of(&canonical::to_bytes(&change))
}
