use milepost_model::quota::Limits;
use serde_json::json;

use crate::api::{KeptBy, NewToken, Swept, Token, WhoAmI};
use crate::{Client, ClientError};

impl Client {
    pub async fn whoami(&self) -> Result<WhoAmI, ClientError> {
        self.get(&["whoami"]).await
    }

    pub async fn token_list(&self) -> Result<Vec<Token>, ClientError> {
        self.get(&["tokens"]).await
    }

    pub async fn token_create(&self, new: &NewToken) -> Result<Token, ClientError> {
        self.post(&["tokens"], new).await
    }

    pub async fn token_delete(&self, name: &str) -> Result<(), ClientError> {
        self.delete(&["tokens", name]).await
    }

    pub async fn plan_list(&self) -> Result<Vec<Limits>, ClientError> {
        self.get(&["plans"]).await
    }

    pub async fn storage_why(&self, digest: &str) -> Result<KeptBy, ClientError> {
        self.get(&["storage", "why", digest]).await
    }

    pub async fn storage_sweep(&self) -> Result<Swept, ClientError> {
        self.post(&["storage", "sweep"], &json!({})).await
    }
}
