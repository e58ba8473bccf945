use milepost_model::execution::{Execution, ExecutionFilter, NewExecution};
use reqwest::Method;

use super::paging;
use crate::api::Page;
use crate::http::NO_LIMIT;
use crate::{Client, ClientError};

impl Client {
    /// Starts an execution. A `sync` one returns when it has ended, even if it failed.
    pub async fn execution_create(&self, app: &str, new: &NewExecution) -> Result<Execution, ClientError> {
        let mut request = self.request(Method::POST, &["apps", app, "executions"]).json(new);
        if new.sync {
            // The function has its own timeout, which the server enforces.
            request = request.timeout(NO_LIMIT);
        }
        self.json(request).await
    }

    pub async fn execution_list(
        &self,
        app: &str,
        filter: &ExecutionFilter,
        limit: i64,
        cursor: Option<&str>,
    ) -> Result<Page<Execution>, ClientError> {
        let mut query = paging(limit, cursor);
        query.extend(filter.function.as_ref().map(|function| ("function", function.to_string())));
        query.extend(filter.version.map(|version| ("version", version.to_string())));
        query.extend(filter.status.map(|status| ("status", status.to_string())));
        query.extend(filter.cause.map(|cause| ("cause", cause.to_string())));
        query.extend(filter.cause_id.clone().map(|id| ("causeId", id)));
        query.extend(filter.since.map(|since| ("since", since.to_string())));
        self.json(self.request(Method::GET, &["apps", app, "executions"]).query(&query)).await
    }

    pub async fn execution_get(&self, app: &str, id: &str) -> Result<Execution, ClientError> {
        self.get(&["apps", app, "executions", id]).await
    }

    /// The log of an execution that has ended.
    pub async fn execution_log(&self, app: &str, id: &str) -> Result<String, ClientError> {
        let response = self.send(self.request(Method::GET, &["apps", app, "executions", id, "log"])).await?;
        response.text().await.map_err(ClientError::Broken)
    }

    pub async fn execution_cancel(&self, app: &str, id: &str) -> Result<Execution, ClientError> {
        self.json(self.request(Method::POST, &["apps", app, "executions", id, "cancel"])).await
    }

    pub async fn execution_delete(&self, app: &str, id: &str) -> Result<(), ClientError> {
        self.delete(&["apps", app, "executions", id]).await
    }
}
