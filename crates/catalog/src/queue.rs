//! Limits how many executions of an app may be queued. Counting costs as much as there are rows, so
//! one count serves many requests: half of the room that a count finds is handed out without
//! counting again. A single server keeps to the limit. Several servers over one database may exceed
//! it by what each hands out.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use milepost_model::refusal::View;
use milepost_model::{AppName, Code, Next, Refusal};

use crate::db::Tx;
use crate::error::Result;
use crate::tables::{apps, executions};

/// For each app, how many executions may be queued before the next count.
#[derive(Debug, Default)]
pub(crate) struct Queues(Mutex<HashMap<i64, i64>>);

impl Queues {
    fn take(&self, app_id: i64, wanted: i64) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match left.get_mut(&app_id) {
            Some(left) if *left >= wanted => {
                *left -= wanted;
                true
            }
            _ => false,
        }
    }

    fn set(&self, app_id: i64, room: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(app_id, room);
    }
}

/// Returns how many of `wanted` executions may be queued. Without `queues`, always counts.
pub(crate) async fn admit(tx: &mut Tx, queues: Option<&Queues>, app_id: i64, wanted: i64) -> Result<i64> {
    if queues.is_some_and(|queues| queues.take(app_id, wanted)) {
        return Ok(wanted);
    }
    let bound = i64::from(apps::plan(tx, app_id).await?.limits().executions_queued);
    let room = bound - executions::queued(tx, app_id, bound).await?;
    let admitted = wanted.min(room);
    if let Some(queues) = queues {
        queues.set(app_id, (room - admitted) / 2);
    }
    Ok(admitted)
}

pub(crate) fn full(app: &AppName) -> Refusal {
    let message = format!("the queue of app `{app}` is full: its plan allows no more executions to wait");
    Refusal::new(Code::QueueFull, message)
        .next(Next::Wait)
        .see(View::QueuedExecutions)
        .next(Next::LargerPlan { app: app.to_string() })
}

/// Description of a tick that was skipped because the queue was full.
pub(crate) const FULL: &str =
    "It was not run: when it was due, as many executions of the app were queued as its plan lets wait.";
