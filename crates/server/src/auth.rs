//! Authentication and authorization of callers.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use milepost_catalog::TokenRow;
use milepost_gateway::ConnectionSlot;
use milepost_model::{AppName, Code, Digest, IdSource, Next, Permission, Refusal, Role};

use crate::edge::rule::{Needs, Rule};
use crate::error::{ApiError, ApiResult, internal};
use crate::state::State;

/// Prefix that makes tokens recognizable in leaked files.
const PREFIX: &str = "mp_";

/// A handler checks a permission, and its route declares none: a mistake in the router. Nothing is
/// allowed then.
#[derive(Debug, thiserror::Error)]
#[error("the route declares no permission but {0:?}")]
struct NoPermission(Option<Needs>);

/// A caller with a valid token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    token: TokenRow,
    /// What the route declares.
    needs: Option<Needs>,
}

impl Caller {
    pub(crate) fn name(&self) -> &str {
        &self.token.name
    }

    pub(crate) fn row(&self) -> &TokenRow {
        &self.token
    }

    /// Returns the app of the request if the caller has the route's permission for it.
    pub(crate) fn on(&self, app: &str) -> ApiResult<AppName> {
        self.may(self.declared()?, app)
    }

    /// Checks the route's permission for a request that concerns no single app.
    pub(crate) fn everywhere(&self) -> ApiResult<()> {
        self.may_everywhere(self.declared()?)
    }

    fn declared(&self) -> ApiResult<Permission> {
        match self.needs {
            Some(Needs::Permission(permission)) => Ok(permission),
            other => Err(internal(&NoPermission(other))),
        }
    }

    /// Returns the app if the caller has this permission for it, whatever the route declares.
    pub(crate) fn may(&self, permission: Permission, app: &str) -> ApiResult<AppName> {
        let name: AppName = app.parse().map_err(Refusal::from)?;
        if let Some(only) = &self.token.app
            && only != app
        {
            let message = format!("token `{}` has no access to app `{name}`", self.token.name);
            return Err(Refusal::new(Code::Forbidden, message)
                .correct("use a token of that app, or one for all apps")
                .into());
        }
        self.check_role(permission)?;
        Ok(name)
    }

    /// Requires a token for all apps.
    pub(crate) fn may_everywhere(&self, permission: Permission) -> ApiResult<()> {
        if let Some(only) = &self.token.app {
            let message = format!("token `{}` has access to app `{only}` only", self.token.name);
            return Err(Refusal::new(Code::Forbidden, message).correct("use a token for all apps").into());
        }
        self.check_role(permission)
    }

    fn check_role(&self, permission: Permission) -> ApiResult<()> {
        if self.token.role.may(permission) {
            return Ok(());
        }
        let what = match permission {
            Permission::Read => "read",
            Permission::Invoke => "call functions",
            Permission::MovePointer => "move pointers",
            Permission::ChangeCode => "change code",
            Permission::Administer => "administer",
        };
        let message = format!("token `{}` has the role {} and may not {what}", self.token.name, self.token.role);
        let role = Some(Role::least_for(permission).as_str().to_owned());
        Err(Refusal::new(Code::Forbidden, message).next(Next::CreateToken { role }).into())
    }
}

impl FromRequestParts<State> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let missing =
            || Refusal::new(Code::Unauthenticated, "the request has no token").next(Next::CreateToken { role: None });
        let value = parts.headers.get(header::AUTHORIZATION).ok_or_else(missing)?;
        let token = value.to_str().ok().and_then(bearer).ok_or_else(missing)?;
        match state.catalog.token_by_hash(hash(token)).await? {
            Some(row) => {
                if let Some(slot) = parts.extensions.get::<ConnectionSlot>() {
                    slot.authenticate(&row.name);
                }
                Ok(Self { token: row, needs: parts.extensions.get().map(|rule: &Rule| rule.needs()) })
            }
            None => Err(Refusal::new(Code::Unauthenticated, "the token is unknown to this server")
                .next(Next::CheckToken)
                .into()),
        }
    }
}

/// The scheme is case-insensitive.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim())
}

/// A plain hash is enough: tokens are long and random, so they cannot be guessed.
pub(crate) fn hash(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

pub(crate) fn make_token(ids: &dyn IdSource) -> String {
    let mut bytes = [0u8; 24];
    ids.fill(&mut bytes);
    format!("{PREFIX}{}", data_encoding::BASE32_NOPAD.encode(&bytes).to_lowercase())
}
