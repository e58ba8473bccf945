//! Authorizes function calls without the database: API tokens are cached in memory, and call tokens
//! let a function call others of its release.

use std::collections::HashMap;

use arc_swap::ArcSwap;
use milepost_catalog::{Catalog, CatalogError, TokenRow};
use milepost_gateway::CallScope;
use milepost_model::{Clock, Digest, Permission, Timestamp};
use subtle::ConstantTimeEq;

use crate::auth;
use crate::keyring::Keyring;

/// Long enough for any call that a function makes while it runs, and for its warm connections.
const CALL_TOKEN_SECONDS: i64 = 3600;

#[derive(Default)]
pub(crate) struct Tokens(ArcSwap<HashMap<Digest, TokenRow>>);

impl Tokens {
    pub(crate) async fn refresh(&self, catalog: &Catalog) -> Result<(), CatalogError> {
        self.0.store(catalog.token_table().await?.into_iter().collect::<HashMap<_, _>>().into());
        Ok(())
    }

    /// Returns `None` for an unknown token.
    pub(crate) fn may_invoke(&self, app: &str, token: &str) -> Option<bool> {
        let tokens = self.0.load();
        let row = tokens.get(&auth::hash(token))?;
        Some(row.role.may(Permission::Invoke) && row.app.as_deref().is_none_or(|only| only == app))
    }
}

/// `app.release.expiry.digest`. Readable, but cannot be forged without the server's key.
pub(crate) fn make_call_token(keyring: &Keyring, app: &str, release: &str, now: Timestamp) -> Box<str> {
    let signed = format!("{app}.{release}.{:x}", now.as_second() + CALL_TOKEN_SECONDS);
    let mac = keyring.sign_call(&signed);
    format!("{signed}.{}", mac.hex()).into()
}

pub(crate) fn open_call_token(keyring: &Keyring, token: &str, clock: &dyn Clock) -> Option<CallScope> {
    let (signed, mac) = token.rsplit_once('.')?;
    let expected = keyring.sign_call(signed).hex();
    if !bool::from(expected.as_bytes().ct_eq(mac.as_bytes())) {
        return None;
    }
    let mut parts = signed.split('.');
    let (app, release, expiry) = (parts.next()?, parts.next()?, parts.next()?);
    let expiry = i64::from_str_radix(expiry, 16).ok()?;
    (clock.now().as_second() <= expiry).then(|| CallScope { app: app.into(), release: release.into() })
}
