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
    /// A path like `/orders/{id}`, or the beginning of the paths if `prefix` is set.
    pub path: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub prefix: bool,
    /// The function receives the path without the prefix.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strip: bool,
    /// Passes requests on like Fission's router: without `prefix`, the function receives the path
    /// `/`, and variables arrive as `X-Fission-Params-NAME` headers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fission: bool,
    /// Restricts the route to this host; empty means every host of the app.
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
