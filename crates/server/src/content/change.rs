//! What a change brings with it: secrets to seal, and trees that must be stored.

use std::collections::{BTreeMap, BTreeSet};

use milepost_catalog::SealedSecret;
use milepost_model::change::Change;
use milepost_model::{AppName, Code, Digest, OsIds, Refusal, UnitName, UnitPut};

use crate::keyring::Keyring;

/// Returns the trees that the change names.
pub(crate) fn trees_of(change: &Change) -> BTreeSet<Digest> {
    let named = change.puts.iter().flat_map(|put| match &put.unit {
        UnitPut::Static(spec) => [Some(spec.tree), None],
        UnitPut::Package(package) => [package.source, package.deployment],
        _ => [None, None],
    });
    named.flatten().collect()
}

/// Seals the secrets of a change before anything else uses it.
pub(crate) fn seal(
    keyring: &Keyring,
    app: &AppName,
    change: &Change,
) -> Result<BTreeMap<UnitName, SealedSecret>, Refusal> {
    let mut sealed = BTreeMap::new();
    for put in &change.puts {
        let UnitPut::Secret(secret) = &put.unit else { continue };
        secret.check(&put.name).map_err(Refusal::from)?;
        let value = keyring.seal_secret(app, &put.name, &secret.value, &OsIds);
        let value = value.ok_or_else(|| {
            Refusal::new(Code::InvalidSpec, format!("the value of secret `{}` is too long", put.name))
                .correct("keep the large part in a file of a package, and only its key here")
        })?;
        sealed.insert(put.name.clone(), value);
    }
    Ok(sealed)
}
