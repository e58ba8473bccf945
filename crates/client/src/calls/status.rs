use crate::api::{AppStatus, SystemFacts};
use crate::{Client, ClientError};

impl Client {
    /// The live release and the running functions of an app.
    pub async fn status(&self, app: &str) -> Result<AppStatus, ClientError> {
        self.get(&["apps", app, "status"]).await
    }

    /// The server's facts about itself and its machine.
    pub async fn system(&self) -> Result<SystemFacts, ClientError> {
        self.get(&["system"]).await
    }
}
