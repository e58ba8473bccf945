use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::digest::Digest;

/// A secret is known by a digest under the server's key: equal values are recognised, and without the key the digest
/// says nothing about the value. The sealed value itself never enters a spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretSpec {
    pub fingerprint: Digest,
}
