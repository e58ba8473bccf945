use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Target, is_default};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerSpec {
    /// Five fields, six with seconds, or an interval like `@every 5m`.
    pub cron: String,
    /// A name from the time zone database; empty means UTC.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zone: String,
    #[serde(flatten)]
    pub target: Target,
}
