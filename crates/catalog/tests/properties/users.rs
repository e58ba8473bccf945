//! What uses functions by name or version: routes and timers, jobs, webhooks and executions. And the
//! secret of the app.

use std::collections::BTreeMap;

use milepost_model::change::Change;
use milepost_model::execution::{CauseKind, ExecutionStatus};
use milepost_model::{Code, UnitKind};

use crate::common::*;
use crate::operations::UseKind;
use crate::world::{World, pick};

const ROUTE: &str = "GET /r";
const TIMER: &str = "t";

/// The function of each trigger, and the version that it is pinned to.
pub type Triggers = BTreeMap<String, (String, Option<i64>)>;

/// A job, a webhook or an execution that has not ended.
#[derive(Debug, Clone)]
pub struct User {
    pub kind: UseKind,
    pub id: String,
    pub function: String,
    /// The version that it is pinned to. An execution always has one.
    pub version: Option<i64>,
}

fn trigger_unit(timer: bool) -> (UnitKind, &'static str) {
    if timer { (UnitKind::Timer, TIMER) } else { (UnitKind::Route, ROUTE) }
}

impl World<'_> {
    pub async fn secret(&mut self, value: u8) {
        let same = self.content("secret s") == Some(value);
        self.change(change([secret("s", &format!("value {value}"))]), value, !same).await;
    }

    pub async fn trigger(&mut self, timer_kind: bool, function: &str, version: Option<u8>) {
        let Some((number, selector)) = self.selected(function, version) else { return };
        let (kind, name) = trigger_unit(timer_kind);
        let put = if timer_kind { timer(name, function, &selector) } else { route(name, function, &selector) };
        // Whether it changes depends on digests, not on numbers, which only the catalog knows.
        let result = self.t.send(change([put])).await;
        let room = self.making_room();
        let unit = format!("{kind} {name}");
        match result {
            Ok(outcome) if outcome.changed => {
                assert_eq!(outcome.expired, room.unwrap());
                self.absorb(outcome, 0);
                self.triggers.insert(unit, (function.to_owned(), number));
            }
            Ok(_) => assert!(self.triggers.contains_key(&unit)),
            Err(error) => assert_eq!((refused::<()>(Err(error)).code, room), (Code::NoRoom, None)),
        }
    }

    pub async fn untrigger(&mut self, timer_kind: bool) {
        let (kind, name) = trigger_unit(timer_kind);
        let unit = format!("{kind} {name}");
        if self.triggers.contains_key(&unit) && self.making_room().is_some() {
            self.change(Change { removes: vec![key(kind, name)], ..Change::default() }, 0, true).await;
            self.triggers.remove(&unit);
        }
    }

    /// Picks a version of a function that the app has, and returns its number and the selector.
    /// Without a position, the selector is `latest`, and there is no number.
    fn selected(&self, function: &str, version: Option<u8>) -> Option<(Option<i64>, String)> {
        let unit = format!("function {function}");
        let numbers = self.numbers(&unit);
        if numbers.is_empty() || !self.manifest.contains_key(&unit) {
            return None;
        }
        let number = version.and_then(|version| pick(&numbers, version)).copied();
        Some((number, number.map_or("latest".to_owned(), |number| number.to_string())))
    }

    pub async fn start_use(&mut self, kind: UseKind, function: &str, version: Option<u8>) {
        let Some((number, selector)) = self.selected(function, version) else { return };
        let t = self.t;
        let (id, version) = match kind {
            UseKind::Job => (t.job(new_job(function, &selector, "0 * * * *")).await.id, number),
            UseKind::Webhook => (t.webhook(function, &selector).await.unwrap().id, number),
            UseKind::Execution => {
                let accepted = t.accept(function, &selector).await.execution;
                let newest = self.manifest[&format!("function {function}")];
                let ran = accepted.version.unwrap().number;
                assert_eq!(ran, number.unwrap_or(newest), "{function} {selector}");
                (accepted.id, Some(ran))
            }
        };
        self.users.push(User { kind, id, function: function.to_owned(), version });
    }

    /// Deletes a job or webhook, or cancels an execution.
    pub async fn end_use(&mut self, user: u8) {
        let Some(user) = pick(&self.users, user).cloned() else { return };
        let t = self.t;
        match user.kind {
            UseKind::Job => t.catalog.job_delete(&t.app, "joe", user.id.clone()).await.unwrap(),
            UseKind::Webhook => t.catalog.webhook_delete(&t.app, "wes", user.id.clone()).await.unwrap(),
            UseKind::Execution => drop(t.catalog.execution_cancel(&t.app, user.id.clone()).await.unwrap()),
        }
        self.users.retain(|known| known.id != user.id);
    }

    /// Also runs executions of the apps of earlier cases.
    pub async fn drain(&mut self) {
        self.t.drain().await;
        let ended = self.t.executions().await;
        assert!(ended.iter().all(|execution| execution.status.is_ended()), "{ended:?}");
        assert!(ended.iter().all(|execution| execution.status != ExecutionStatus::Error), "{ended:?}");
        self.users.retain(|user| user.kind != UseKind::Execution);
    }

    /// Also fires jobs and timers of the apps of earlier cases.
    pub async fn fire(&mut self) {
        self.t.clock.advance_ms(2 * 3_600_000);
        while self.t.catalog.fire_due(100).await.unwrap().rows > 0 {}
        for execution in self.t.executions().await {
            if execution.status.is_ended() || self.users.iter().any(|user| user.id == execution.id) {
                continue;
            }
            let (function, ran) =
                (execution.function.to_string(), execution.version.as_ref().map(|version| version.number));
            if execution.cause.kind == CauseKind::Job {
                let job = self.users.iter().find(|user| Some(&user.id) == execution.cause.id.as_ref()).unwrap();
                let newest = self.manifest.get(&format!("function {function}")).copied();
                assert_eq!((&job.function, ran), (&function, job.version.or(newest)), "{execution:?}");
            }
            self.users.push(User { kind: UseKind::Execution, id: execution.id, function, version: ran });
        }
    }
}
