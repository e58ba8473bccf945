use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Target, is_default};
use crate::route_path::Answered;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteSpec {
    /// Upper case; empty means every method.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(value_type = Vec<String>)]
    pub methods: BTreeSet<String>,
    /// `/orders/{id}`, or the beginning of the paths when `prefix` is set.
    pub path: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub prefix: bool,
    /// The function gets the path without the prefix.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strip: bool,
    /// Requests are passed on as Fission's router passes them: a path without `prefix` is `/` for the function, and the
    /// variables come as `X-Fission-Params-NAME`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fission: bool,
    /// Only for this host; empty means every host of the app.
    #[serde(default, skip_serializing_if = "is_default")]
    pub host: String,
    #[serde(flatten)]
    pub target: Target,
}

impl RouteSpec {
    pub fn answered(&self) -> Answered<'_> {
        Answered { methods: &self.methods, path: &self.path, prefix: self.prefix, host: &self.host }
    }
}
