//! Short helpers for executions, jobs and timers.

use std::collections::BTreeMap;

use milepost_catalog::{Accept, CatalogError, Claimed, Finish, Turn};
use milepost_model::execution::{Cause, Execution, ExecutionFilter, ExecutionStatus, NewExecution};
use milepost_model::job::{Job, NewJob};
use milepost_model::unit_put::{Put, TargetPut, TimerPut};
use milepost_model::webhook::{NewWebhook, Webhook};
use milepost_model::{AppName, UnitPut};
use serde_json::json;

use super::{Fixture, put};

pub const NODE: &str = "node-1";

pub fn new_execution(function: &str, version: &str) -> NewExecution {
    let (function, version) = (function.parse().unwrap(), version.parse().unwrap());
    NewExecution { function, version, input: Some(json!({ "a": 1 }).into()), sync: false, description: String::new() }
}

pub fn asked(new: NewExecution) -> Accept {
    Accept {
        new,
        headers: BTreeMap::new(),
        cause: Cause::API,
        started_by: "eve".to_owned(),
        node: NODE.to_owned(),
        key: None,
    }
}

pub fn ended(status: ExecutionStatus) -> Finish {
    Finish { status, result: Some("done".into()), failure: None, log: "line\n".to_owned(), duration_ms: 7 }
}

pub fn new_job(function: &str, version: &str, cron: &str) -> NewJob {
    NewJob {
        name: String::new(),
        function: function.parse().unwrap(),
        version: version.parse().unwrap(),
        cron: Some(cron.to_owned()),
        zone: String::new(),
        first_at: None,
        count: None,
        input: None,
    }
}

pub fn timer_at(name: &str, cron: &str, function: &str, version: &str) -> Put {
    let target = TargetPut { function: function.parse().unwrap(), version: version.parse().unwrap() };
    put(name, UnitPut::Timer(TimerPut { cron: cron.to_owned(), zone: String::new(), target }))
}

impl Fixture {
    pub async fn accept(&self, function: &str, version: &str) -> Claimed {
        self.accept_in(&self.app, function, version).await
    }

    pub async fn accept_in(&self, app: &AppName, function: &str, version: &str) -> Claimed {
        // Ids are then in the order of acceptance.
        self.clock.advance_ms(1);
        self.catalog.execution_accept(app, asked(new_execution(function, version))).await.unwrap()
    }

    pub async fn claim(&self, node: &str, most: usize) -> Vec<Claimed> {
        self.catalog.executions_claim(node, &mut Turn::default(), most).await.unwrap()
    }

    /// Records that an instance has the claimed execution.
    pub async fn begin(&self, claimed: &Claimed) -> bool {
        self.catalog.execution_begin(claimed.execution.id.clone(), NODE, claimed.attempt).await.unwrap()
    }

    pub async fn finish(&self, claimed: &Claimed, status: ExecutionStatus) -> bool {
        self.finish_as(NODE, claimed, status).await
    }

    pub async fn finish_as(&self, node: &str, claimed: &Claimed, status: ExecutionStatus) -> bool {
        let id = claimed.execution.id.clone();
        self.catalog.execution_finish(id, node, claimed.attempt, ended(status)).await.unwrap()
    }

    pub async fn execution(&self, id: &str) -> Execution {
        self.catalog.execution_get(&self.app, id.to_owned()).await.unwrap()
    }

    /// Returns the executions, oldest first.
    pub async fn executions(&self) -> Vec<Execution> {
        self.executions_where(ExecutionFilter::default()).await
    }

    pub async fn executions_where(&self, filter: ExecutionFilter) -> Vec<Execution> {
        let mut found = self.catalog.execution_list(&self.app, filter, None, 10_000).await.unwrap().items;
        found.reverse();
        found
    }

    pub async fn job(&self, new: NewJob) -> Job {
        self.catalog.job_create(&self.app, "joe", new).await.unwrap()
    }

    pub async fn webhook(&self, function: &str, version: &str) -> Result<Webhook, CatalogError> {
        let (function, version) = (function.parse().unwrap(), version.parse().unwrap());
        let new = NewWebhook { function, version, description: String::new(), secret: None };
        self.catalog.webhook_create(&self.app, "wes", new, None).await
    }

    /// Returns the versions that executions ran, oldest first.
    pub async fn ran(&self) -> Vec<Option<i64>> {
        self.executions().await.into_iter().map(|execution| execution.version.map(|version| version.number)).collect()
    }

    /// Ends everything that is queued.
    pub async fn drain(&self) {
        loop {
            let claimed = self.claim(NODE, 100).await;
            if claimed.is_empty() {
                return;
            }
            for one in claimed {
                assert!(self.finish(&one, ExecutionStatus::Success).await);
            }
        }
    }
}
