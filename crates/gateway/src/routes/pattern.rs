//! Route patterns, parsed by the model.

pub(super) use milepost_model::route_path::{RoutePattern, Segment, variable_group as group, variable_names as names};

use super::RouteError;

pub(super) fn compile(path: &str, prefix: bool) -> Result<RoutePattern, RouteError> {
    RoutePattern::parse(path, prefix).map_err(|error| RouteError { path: path.into(), reason: error.reason })
}
