//! Random sequences of v1 calls and related operations on a function: numbers are never reused, and
//! versions in use stay.

use std::collections::{BTreeMap, BTreeSet};

use milepost_catalog::{CatalogError, Claimed};
use milepost_model::execution::ExecutionStatus;
use milepost_model::job::{JobChange, JobState};
use milepost_model::{Code, UnitKind};
use proptest::prelude::*;

use crate::common::*;

#[derive(Debug, Clone)]
pub enum Call {
    Edit,
    Publish,
    Delete(u8),
    Alias(u8),
    Unalias,
    Job(u8),
    CancelJob(u8),
    Webhook(u8),
    Unhook(u8),
    Execute(u8),
    Claim,
    Finish(u8),
    Lose,
    Sweep,
}

pub fn sequences() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        3 => Just(Call::Edit),
        4 => Just(Call::Publish),
        6 => any::<u8>().prop_map(Call::Delete),
        2 => any::<u8>().prop_map(Call::Alias),
        1 => Just(Call::Unalias),
        2 => any::<u8>().prop_map(Call::Job),
        2 => any::<u8>().prop_map(Call::CancelJob),
        2 => any::<u8>().prop_map(Call::Webhook),
        2 => any::<u8>().prop_map(Call::Unhook),
        3 => any::<u8>().prop_map(Call::Execute),
        2 => Just(Call::Claim),
        3 => any::<u8>().prop_map(Call::Finish),
        1 => Just(Call::Lose),
        1 => Just(Call::Sweep),
    ];
    prop::collection::vec(call, 5..40)
}

/// The expected state of the function.
#[derive(Default)]
struct Model {
    edits: u32,
    /// Published numbers and their versions.
    published: BTreeMap<i64, i64>,
    given: i64,
    alias: Option<i64>,
    jobs: Vec<(String, i64)>,
    webhooks: Vec<(String, i64)>,
    queued: BTreeMap<String, i64>,
    running: Vec<(Claimed, i64)>,
}

fn pick<T>(items: &[T], position: u8) -> Option<&T> {
    items.get(usize::from(position) % items.len().max(1))
}

impl Model {
    fn used(&self) -> BTreeSet<i64> {
        let pinned = self.jobs.iter().chain(&self.webhooks).map(|(_, version)| *version);
        let running = self.running.iter().map(|(_, version)| *version);
        pinned.chain(running).chain(self.queued.values().copied()).chain(self.alias).collect()
    }

    fn version(&self, position: u8) -> Option<i64> {
        pick(&self.published.values().copied().collect::<Vec<_>>(), position).copied()
    }
}

pub async fn numbers_are_never_reused_and_versions_in_use_stay(t: &mut Fixture, calls: &Vec<Call>) {
    let t = &*t;
    let mut model = Model::default();
    t.deploy("f", "code 0").await;
    for call in calls {
        step(t, &mut model, call).await;
        check(t, &model).await;
    }
}

async fn step(t: &Fixture, model: &mut Model, call: &Call) {
    let function = || "f".parse().unwrap();
    t.clock.advance_ms(1000);
    match call {
        Call::Edit => {
            model.edits += 1;
            t.deploy("f", &format!("code {}", model.edits)).await;
        }
        Call::Publish => {
            let made = t.catalog.v1_publish(&t.app, "vic", function(), String::new()).await.unwrap();
            model.given += 1;
            assert_eq!(made.number, model.given);
            assert!(!model.published.values().any(|version| *version == made.version));
            model.published.insert(made.number, made.version);
        }
        Call::Delete(position) => {
            let Some(version) = model.version(*position) else { return };
            match t.delete(UnitKind::Function, "f", &version.to_string()).await {
                Ok(_) => {
                    assert!(!model.used().contains(&version), "version {version} was in use");
                    model.published.retain(|_, published| *published != version);
                    if t.catalog.unit_get(&t.app, key(UnitKind::Function, "f")).await.is_err() {
                        // It was the only version, so the function is gone, and the next one is a
                        // new function.
                        assert!(model.published.is_empty());
                        model.given = 0;
                        model.edits += 1;
                        t.deploy("f", &format!("code {}", model.edits)).await;
                    }
                }
                Err(CatalogError::Refused(refusal)) => {
                    // All releases of a free plan may hold it, or jobs and webhooks may need the
                    // function itself.
                    let used = model.used().contains(&version);
                    assert!(
                        used || refusal.code != Code::InUse || refusal.message.contains("nothing would be live"),
                        "{refusal:?}"
                    );
                    assert!([Code::InUse, Code::StillReferenced].contains(&refusal.code), "{refusal:?}");
                }
                Err(error) => panic!("{error:?}"),
            }
        }
        Call::Alias(position) => {
            let Some(version) = model.version(*position) else { return };
            t.alias("f", "a", &version.to_string()).await;
            model.alias = Some(version);
        }
        Call::Unalias => {
            if model.alias.take().is_some() {
                t.catalog.alias_delete(&t.app, "al", function(), "a".parse().unwrap()).await.unwrap();
            }
        }
        Call::Job(position) => {
            let Some(version) = model.version(*position) else { return };
            let job = t.job(new_job("f", &version.to_string(), "0 3 * * *")).await;
            model.jobs.push((job.id, version));
        }
        Call::CancelJob(position) => {
            let Some((id, _)) = pick(&model.jobs, *position).cloned() else { return };
            let change = JobChange { state: Some(JobState::Cancelled), ..JobChange::default() };
            t.catalog.job_update(&t.app, "joe", id.clone(), change).await.unwrap();
            model.jobs.retain(|(job, _)| *job != id);
        }
        Call::Webhook(position) => {
            let Some(version) = model.version(*position) else { return };
            let webhook = t.webhook("f", &version.to_string()).await.unwrap();
            model.webhooks.push((webhook.id, version));
        }
        Call::Unhook(position) => {
            let Some((id, _)) = pick(&model.webhooks, *position).cloned() else { return };
            t.catalog.webhook_delete(&t.app, "wes", id.clone()).await.unwrap();
            model.webhooks.retain(|(webhook, _)| *webhook != id);
        }
        Call::Execute(position) => {
            let Some(version) = model.version(*position) else { return };
            let accepted = t.accept("f", &version.to_string()).await;
            model.queued.insert(accepted.execution.id, version);
        }
        Call::Claim => {
            for claimed in t.claim(NODE, 2).await {
                if let Some(version) = model.queued.remove(&claimed.execution.id) {
                    assert_eq!(claimed.execution.version.as_ref().unwrap().number, version);
                    model.running.push((claimed, version));
                }
            }
        }
        Call::Finish(position) => {
            if model.running.is_empty() {
                return;
            }
            let (claimed, _) = model.running.remove(usize::from(*position) % model.running.len());
            assert!(t.finish(&claimed, ExecutionStatus::Success).await);
        }
        Call::Lose => {
            t.catalog.give_back_all(i64::MAX).await.unwrap();
            for (claimed, version) in model.running.drain(..) {
                model.queued.insert(claimed.execution.id, version);
            }
        }
        Call::Sweep => {
            t.clock.advance_ms(10_000);
            t.catalog.sweep(1000).await.unwrap();
        }
    }
}

async fn check(t: &Fixture, model: &Model) {
    let listed = t.catalog.v1_versions(&t.app, "f".parse().unwrap()).await.unwrap();
    let listed: BTreeMap<i64, i64> = listed.into_iter().map(|version| (version.number, version.version)).collect();
    assert_eq!(listed, model.published);
    for version in model.used() {
        let found = t.version(UnitKind::Function, "f", &version.to_string()).await.unwrap();
        let package = found.spec["package"]["number"].to_string();
        t.version(UnitKind::Package, "f", &package).await.unwrap();
    }
}
