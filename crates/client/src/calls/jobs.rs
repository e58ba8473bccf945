use milepost_model::job::{Job, JobChange, NewJob};
use reqwest::Method;

use super::paging;
use crate::api::Page;
use crate::{Client, ClientError};

impl Client {
    pub async fn job_create(&self, app: &str, new: &NewJob) -> Result<Job, ClientError> {
        self.post(&["apps", app, "jobs"], new).await
    }

    pub async fn job_list(&self, app: &str, limit: i64, cursor: Option<&str>) -> Result<Page<Job>, ClientError> {
        self.json(self.request(Method::GET, &["apps", app, "jobs"]).query(&paging(limit, cursor))).await
    }

    pub async fn job_get(&self, app: &str, id: &str) -> Result<Job, ClientError> {
        self.get(&["apps", app, "jobs", id]).await
    }

    pub async fn job_update(&self, app: &str, id: &str, change: &JobChange) -> Result<Job, ClientError> {
        self.json(self.request(Method::PATCH, &["apps", app, "jobs", id]).json(change)).await
    }

    pub async fn job_delete(&self, app: &str, id: &str) -> Result<(), ClientError> {
        self.delete(&["apps", app, "jobs", id]).await
    }
}
