use axum::Json;
use milepost_client::api::TreeItem;
use milepost_model::tree::Leaf;

use crate::auth::Caller;
use crate::content::trees;
use crate::edge::extract::{self, Path};
use crate::error::ApiResult;
use crate::state::Stored;

/// List the files of a tree
#[utoipa::path(get, path = "/apps/{app}/trees/{digest}", tag = "blobs", params(("app" = String, Path, description = "Name of the app"), ("digest" = String, Path, description = "`sha256:…`")), responses((status = 200, body = Vec<TreeItem>)))]
pub(crate) async fn trees_get(
    caller: Caller,
    store: Stored,
    Path((app, digest)): Path<(String, String)>,
) -> ApiResult<Json<Vec<TreeItem>>> {
    caller.on(&app)?;
    let digest = extract::digest(&digest)?;
    let tree = trees::load(&store, digest).await?;
    let items = tree.iter().map(|(path, leaf)| match leaf {
        Leaf::File(file) => TreeItem { path: path.to_owned(), file: Some(*file), link: None },
        Leaf::Link { target } => TreeItem { path: path.to_owned(), file: None, link: Some(target.clone()) },
    });
    Ok(Json(items.collect()))
}
