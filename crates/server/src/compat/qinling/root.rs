//! Version discovery and unknown calls.

use axum::Json;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};

use super::fault::Fault;
use super::names::endpoint;
use super::project::Project;

pub(crate) async fn versions(headers: HeaderMap) -> Json<Value> {
    let href = format!("{}/v1", endpoint(&headers));
    let link = json!({ "href": href, "target": "v1", "rel": "self" });
    Json(json!({ "versions": [{ "id": "v1.0", "status": "CURRENT", "links": [link] }] }))
}

pub(crate) async fn uri(headers: HeaderMap) -> Json<Value> {
    Json(json!({ "uri": format!("{}/v1/", endpoint(&headers)) }))
}

/// Requires a token, so that other callers learn nothing about the available calls.
pub(crate) async fn unknown(_: Project, uri: Uri) -> Fault {
    Fault::no_such_call(
        format!("There is no call `{}`; docs/v1.md lists the calls.", uri.path()),
        StatusCode::NOT_FOUND,
    )
}

/// Reports a missing token first.
pub(crate) async fn wrong_method(_: Project, method: Method, uri: Uri) -> Fault {
    wrong(&method, &uri)
}

/// For calls that need no token.
pub(crate) async fn wrong_method_of_open_call(method: Method, uri: Uri) -> Fault {
    wrong(&method, &uri)
}

fn wrong(method: &Method, uri: &Uri) -> Fault {
    let message = format!("The call `{}` does not take {method}; docs/v1.md lists the calls.", uri.path());
    Fault::no_such_call(message, StatusCode::METHOD_NOT_ALLOWED)
}
