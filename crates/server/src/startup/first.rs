//! What the first start makes: the admin token and the default app.

use std::fs;

use milepost_catalog::{Catalog, CatalogError};
// Keys and tokens never come from the seeded source of tests.
use milepost_model::{AppName, Code, OsIds, PlanName, Role};

use super::StartError;
use super::data::data_error;
use crate::keyring::write_owner_only;
use crate::settings::Settings;
use crate::{auth, private};

const ADMIN: &str = "admin";

/// Creates an admin token on the first start, in a file that only its owner can read.
pub(super) async fn ensure_admin_token(catalog: &Catalog, settings: &Settings) -> Result<(), StartError> {
    let path = settings.data.join("admin.token");
    let token = match fs::read_to_string(&path) {
        Ok(token) => {
            private::close_to_others(&path);
            token.trim().to_owned()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let token = auth::make_token(&OsIds);
            write_owner_only(&path, format!("{token}\n").as_bytes())
                .map_err(|source| data_error(&settings.data, source))?;
            token
        }
        Err(source) => return Err(data_error(&settings.data, source)),
    };
    let hash = auth::hash(&token);
    if catalog.token_by_hash(hash).await?.is_some() {
        return Ok(());
    }
    let create = |name: String| catalog.token_create(name, hash, Role::Admin, None, "milepost");
    match create(ADMIN.to_owned()).await {
        // A second node on the same database has its own token file, and the plain name is taken.
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::TokenExists => {
            create(format!("{ADMIN}-{}", settings.ids.short_id())).await?.unapplied();
        }
        other => {
            other?.unapplied();
        }
    }
    Ok(())
}

pub(super) async fn ensure_default_app(catalog: &Catalog) -> Result<(), StartError> {
    let name = AppName::default();
    match catalog.app_get(&name).await {
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::AppNotFound => {}
        other => return Ok(other.map(drop)?),
    }
    match catalog.app_create(&name, PlanName::default(), "milepost").await {
        // Two nodes that start concurrently both try to create it.
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::AppExists => {}
        other => {
            other?.unapplied();
        }
    }
    Ok(())
}
