use crate::api::{AppStatus, SystemFacts};
use crate::{Client, ClientError};

impl Client {
    /// What is live, and what runs.
    pub async fn status(&self, app: &str) -> Result<AppStatus, ClientError> {
        self.get(&["apps", app, "status"]).await
    }

    /// What the server knows about itself and its machine.
    pub async fn system(&self) -> Result<SystemFacts, ClientError> {
        self.get(&["system"]).await
    }
}
