//! What a change does with secrets, which are compared by fingerprints.

use milepost_model::change::Change;
use milepost_model::spec::SecretSpec;
use milepost_model::unit_put::Put;
use milepost_model::{Digest, UnitKind, UnitPut, UnitSpec, canonical};

use super::{ChangeInput, Draft, SealedSecret};

/// The digest of a secret's new value under the former keys: what a version of before has if its value is the same.
pub(super) fn former_digest(draft: &Draft<'_>, put: &Put) -> Option<Digest> {
    let secret = draft.secrets.get(&put.name).filter(|_| put.unit.kind() == UnitKind::Secret)?;
    Some(UnitSpec::Secret(SecretSpec { fingerprint: secret.former_fingerprint }).digest())
}

/// What a resent change must be equal to. Secrets take part by their fingerprints: the request itself is never kept.
pub(super) fn request_digest(input: &ChangeInput) -> Digest {
    digest(input, |secret| secret.fingerprint)
}

/// Whether an earlier request was the same one, also if a program of before noted it.
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
