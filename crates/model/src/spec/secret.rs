use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::digest::Digest;

/// A secret is identified by a MAC of app, name and value under the server's key. Equal values of
/// one secret have equal fingerprints; all other fingerprints are unrelated. The sealed value never
/// enters a spec, and the fingerprint never leaves the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretSpec {
    pub fingerprint: Digest,
}
