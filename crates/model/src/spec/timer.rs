use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Target, is_default};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerSpec {
    /// Five fields, six with seconds, or `@every 5m` and the like.
    pub cron: String,
    /// A name of the time zone database; empty means UTC.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zone: String,
    #[serde(flatten)]
    pub target: Target,
}
