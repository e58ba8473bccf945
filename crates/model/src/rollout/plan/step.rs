use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::Span;
use crate::split::Weight;

/// One step of a plan: written as a weight, or as a map with one.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RolloutStep)]
pub struct Step {
    pub weight: Weight,
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Waits for an approval after it has passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
}

impl Step {
    /// A plain step; None above 100 %.
    pub fn of(hundredths: u16) -> Option<Self> {
        Weight::from_hundredths(hundredths).map(Self::from)
    }
}

impl From<Weight> for Step {
    fn from(weight: Weight) -> Self {
        Self { weight, time: None, approve: false }
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            weight: Weight,
            #[serde(rename = "for", default)]
            time: Option<Span>,
            #[serde(default)]
            approve: bool,
        }
        // By hand and not `untagged`, which would hide what is wrong with either form.
        let value = serde_json::Value::deserialize(from)?;
        let step = if value.is_object() {
            serde_json::from_value(value).map(|Long { weight, time, approve }| Self { weight, time, approve })
        } else {
            serde_json::from_value::<Weight>(value).map(Self::from)
        };
        step.map_err(serde::de::Error::custom)
    }
}
