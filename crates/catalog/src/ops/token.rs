use milepost_model::refusal::View;
use milepost_model::{AppName, Code, Digest, Next, Refusal, Role};

use crate::Catalog;
use crate::effects::{Effects, Written};
use crate::error::Result;
use crate::tables::apps;
use crate::tables::tokens::{self, TokenRow};

impl Catalog {
    /// Returns every token with its hash, for callers that cannot query for each request.
    pub async fn token_table(&self) -> Result<Vec<(Digest, TokenRow)>> {
        self.db.read(|tx| Box::pin(async move { tokens::table(tx).await })).await
    }

    /// Stores the hash of a token that the server has made.
    pub async fn token_create(
        &self,
        name: String,
        hash: Digest,
        role: Role,
        app: Option<AppName>,
        actor: &str,
    ) -> Result<Written<TokenRow>> {
        let token = TokenRow {
            name,
            role,
            app: app.as_ref().map(ToString::to_string),
            created_at: self.now(),
            created_by: actor.to_owned(),
        };
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app_id = match &app {
                        Some(app) => Some(apps::get(tx, app).await?.id),
                        None => None,
                    };
                    if tokens::insert(tx, &hash, app_id, &token).await? {
                        return Ok(Written::new(token, Effects::tokens()));
                    }
                    let message = format!("token `{}` already exists", token.name);
                    Err(Refusal::new(Code::TokenExists, message)
                        .correct("choose another name, or delete that one first")
                        .into())
                })
            })
            .await
    }

    pub async fn token_by_hash(&self, hash: Digest) -> Result<Option<TokenRow>> {
        self.db.read(move |tx| Box::pin(async move { tokens::find_by_hash(tx, &hash).await })).await
    }

    pub async fn token_list(&self) -> Result<Vec<TokenRow>> {
        self.db.read(|tx| Box::pin(async move { tokens::list(tx).await })).await
    }

    pub async fn token_delete(&self, name: String) -> Result<Written<()>> {
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    if tokens::delete(tx, &name).await? {
                        return Ok(Written::new((), Effects::tokens()));
                    }
                    let names: Vec<String> = tokens::list(tx).await?.into_iter().map(|token| token.name).collect();
                    let message = format!("token `{name}` does not exist");
                    Err(Refusal::not_found(
                        Code::TokenNotFound,
                        message,
                        &name,
                        &names,
                        [Next::See { view: View::Tokens }],
                    )
                    .into())
                })
            })
            .await
    }
}
