//! An app with a function that does nothing, in a catalog alone, which does not need its code, or
//! on a real server.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use milepost_catalog::{Catalog, NewBlob};
use milepost_client::Client;
use milepost_client::api::ServerFile;
use milepost_model::execution::NewExecution;
use milepost_model::unit_put::{FunctionPut, PackagePut, Put, UnitPut, VersionRef};
use milepost_model::{AppName, Digest, PlanName, Selector, UnitKind, UnitName};
use serde_json::json;

use crate::engine;
use crate::serve::milepost::{APP, Milepost};
use crate::serve::place::Place;

pub const FUNCTION: &str = "noop";
const CODE: &str = "def main():\n    return {}\n";

/// Creates an app with the function and without relevant limits.
pub async fn app(catalog: &Catalog, name: &str) -> Result<AppName> {
    let app: AppName = name.parse()?;
    catalog.app_create(&app, PlanName::Unlimited, "bench").await?.unapplied();
    let (file, root) = (Digest::of(b"file"), Digest::of(b"root"));
    let blob = |digest, children| NewBlob { digest, size: 1, offset: 0, children };
    if !catalog.blobs_missing(vec![root]).await?.is_empty() {
        let pack = vec![blob(file, None), blob(root, Some(vec![file]))];
        catalog.pack_register(&app, "bench".to_owned(), 2, pack).await?;
    }
    let package =
        PackagePut { environment: Some(reference("python")?), deployment: Some(root), ..PackagePut::default() };
    let function = FunctionPut { package: Some(reference(FUNCTION)?), ..FunctionPut::default() };
    let puts = vec![put(UnitPut::Package(package))?, put(UnitPut::Function(function))?];
    catalog.change(&app, engine::change(puts, true)).await?.unapplied();
    Ok(app)
}

fn reference(name: &str) -> Result<VersionRef> {
    Ok(VersionRef { name: name.parse()?, version: Selector::Latest })
}

fn put(unit: UnitPut) -> Result<Put> {
    let name = UnitName::for_kind(UnitKind::Function, FUNCTION)?;
    Ok(Put { name, label: None, description: None, group: None, force: false, only: None, unit })
}

pub fn new() -> Result<NewExecution> {
    let function = UnitName::for_kind(UnitKind::Function, FUNCTION)?;
    let input = Some(json!({ "order": 12_345 }).into());
    Ok(NewExecution { function, version: Selector::Latest, input, sync: false, description: String::new() })
}

/// A client of a running server.
pub fn client(milepost: &Milepost) -> Result<Client> {
    let file = fs::read(milepost.data().join("server.json")).context("the server has no server.json")?;
    let file: ServerFile = serde_json::from_slice(&file)?;
    let token = fs::read_to_string(milepost.data().join("admin.token")).context("the server has no token")?;
    Ok(Client::new(&file.api, token.trim())?)
}

/// Writes the directory of an app with the function and more manifest content.
pub fn folder(place: &Place, name: &str, more: &str) -> Result<PathBuf> {
    let folder = place.folder(name)?;
    fs::create_dir_all(folder.join("noop"))?;
    fs::write(folder.join("noop/main.py"), CODE)?;
    let manifest =
        format!("app: {APP}\nfunctions:\n  {FUNCTION}: {{ env: python, src: noop/, scale: {{ max: 2 }} }}\n{more}");
    fs::write(folder.join("milepost.yaml"), manifest)?;
    Ok(folder)
}

/// Deploys the function to a server, in an app without relevant limits.
pub fn deploy(place: &Place, milepost: &Milepost, name: &str, more: &str) -> Result<()> {
    let folder = folder(place, name, more)?;
    milepost.run(&["deploy", folder.to_str().context("the temporary folder's name is not UTF-8")?])?;
    milepost.run(&["plan", "set", "unlimited"])
}
