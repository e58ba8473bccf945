//! Re-keys versions of secrets from before fingerprints were bound to app and name. See
//! `docs/decisions/013`.

use milepost_model::spec::SecretSpec;
use milepost_model::{Digest, UnitSpec};

use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::tables::contents::{self, Missing};
use crate::tables::keyed_secrets::{self, OldSecret, OldSecretPlace};
use crate::tables::{apps, versions};

/// How long a node may be silent before it counts as gone.
const SILENCE_MS: i64 = 60_000;

/// An old version of a secret with its new fingerprint.
#[derive(Debug, Clone)]
pub struct RekeyedSecret {
    pub old: OldSecret,
    pub fingerprint: Digest,
}

impl Catalog {
    /// Returns versions of secrets that are not re-keyed yet, after a position.
    pub async fn secrets_to_rekey(&self, after: OldSecretPlace, limit: i64) -> Result<Vec<OldSecret>> {
        self.db.read(move |tx| Box::pin(async move { keyed_secrets::missing(tx, after, limit).await })).await
    }

    /// Reports whether a program that knows only the old fingerprints runs over the same database.
    pub async fn has_nodes_of_old_keys(&self) -> Result<bool> {
        let since = milepost_model::clock::from_millis(self.now().as_millisecond() - SILENCE_MS);
        self.db.read(move |tx| Box::pin(async move { keyed_secrets::has_old_nodes(tx, since).await })).await
    }

    /// Gives versions of one app their new fingerprints, all or none. Skips versions that changed
    /// meanwhile or that another node re-keyed. Returns how many were re-keyed.
    pub async fn secrets_rekey(&self, app_id: i64, keyed: Vec<RekeyedSecret>) -> Result<u64> {
        let Some(name) = keyed.first().map(|first| first.old.app.clone()) else { return Ok(0) };
        let _turn = self.db.turn(name.as_str()).await;
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    // Takes the lock that every change takes, also for a deleted app.
                    apps::lock_by_id(tx, app_id).await?;
                    let mut done = 0;
                    for secret in &keyed {
                        done += u64::from(rekey(tx, secret).await?);
                    }
                    Ok(done)
                })
            })
            .await
    }
}

async fn rekey(tx: &mut Tx, secret: &RekeyedSecret) -> Result<bool> {
    let RekeyedSecret { old, fingerprint } = secret;
    if !keyed_secrets::keep_former(tx, old).await? {
        return Ok(false);
    }
    let spec = UnitSpec::Secret(SecretSpec { fingerprint: *fingerprint });
    let digest = spec.digest();
    let content_id = match &old.sealed {
        Some(sealed) => Some(contents::put(tx, old.app_id, &spec, &digest, Some(sealed), Missing::Refuse).await?),
        None => None,
    };
    versions::set_content(tx, old.version_id, &digest, content_id).await?;
    Ok(true)
}
