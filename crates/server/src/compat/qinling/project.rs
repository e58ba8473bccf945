//! Authentication: a token determines the project and the permissions in it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use milepost_model::{AppName, Code, Permission};

use super::fault::{Fault, V1Result};
use crate::auth::Caller;
use crate::state::State;

/// The header that OpenStack clients use.
const TOKEN: &str = "x-auth-token";

pub(crate) struct Project {
    pub name: AppName,
    /// Whether the caller may read other projects.
    pub sees_all: bool,
    caller: Caller,
}

impl Project {
    /// The actor's name in the event log.
    pub(crate) fn actor(&self) -> &str {
        self.caller.name()
    }

    /// Checks that the token's role has the route's permission in its own project.
    pub(crate) fn may(&self) -> V1Result<&AppName> {
        self.caller.on(self.name.as_str())?;
        Ok(&self.name)
    }

    /// Returns whether the caller may read resources of this project.
    pub(crate) fn sees(&self, project: &AppName) -> bool {
        self.sees_all || *project == self.name
    }
}

impl FromRequestParts<State> for Project {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Fault> {
        if let Some(token) = parts.headers.get(TOKEN).and_then(|token| token.to_str().ok())
            && let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}"))
        {
            parts.headers.insert(header::AUTHORIZATION, value);
        }
        let given = parts.headers.contains_key(header::AUTHORIZATION);
        let caller = match Caller::from_request_parts(parts, state).await {
            Err(error) if error.0.code == Code::Unauthenticated => {
                return Err(Fault::unauthorized(if given {
                    "The token is not known to this server. It may have been deleted, or belong to another server."
                } else {
                    "This call needs a token. Send it in the header X-Auth-Token."
                }));
            }
            other => other?,
        };
        let only = caller.row().app.clone();
        let sees_all = only.is_none() && caller.row().role.may(Permission::Administer);
        let name = match only {
            Some(app) => app.to_string().parse(),
            // The project of tokens for all apps.
            None => Ok(AppName::default()),
        };
        let name = name.map_err(milepost_model::Refusal::from)?;
        Ok(Self { name, sees_all, caller })
    }
}
