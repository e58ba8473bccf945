use std::sync::Arc;

use milepost_model::change::Act;
use milepost_model::event::EventKind;
use milepost_model::refusal::Field;
use milepost_model::{AppName, Code, Next, PlanName, Refusal};
use serde_json::json;

use crate::Catalog;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::read::App;
use crate::tables::{aliases, apps, builds, deployments, executions, installs, jobs, qinling};
use crate::tables::{releases, rollouts, tags, timers, units, versions, webhooks};
use crate::work::Work;

impl Catalog {
    pub async fn app_create(&self, name: &AppName, plan: PlanName, actor: &str) -> Result<Written<App>> {
        let name = name.clone();
        let act = Act { actor: actor.to_owned(), at: self.now() };
        let ids = Arc::clone(&self.ids);
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::insert(tx, &name, plan, act.at, &act.actor).await?;
                    let mut work = Work::new(tx, app, act, ids);
                    let after = json!({ "name": name, "plan": plan });
                    work.event(EventKind::AppCreated, &format!("app {name}"), None, Some(after));
                    let effects = work.finish().await?;
                    Ok(Written::new(crate::read::app_view(work.tx, &work.app).await?, effects))
                })
            })
            .await
    }

    /// Deletes an app with everything in it. Its history stays in the database under its id; the
    /// name becomes free.
    pub async fn app_delete(&self, name: &AppName, actor: &str) -> Result<Written<()>> {
        self.delete_app(name, actor, false).await
    }

    /// Deletes an app that has no version: it was created for a deploy that failed.
    pub async fn app_delete_unused(&self, name: &AppName, actor: &str) -> Result<Written<()>> {
        self.delete_app(name, actor, true).await
    }

    async fn delete_app(&self, name: &AppName, actor: &str, only_unused: bool) -> Result<Written<()>> {
        self.work(name, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                if only_unused && work.app.head_seq > 0 {
                    let message = format!("app `{}` has versions", work.app.name);
                    return Err(Refusal::new(Code::InUse, message)
                        .next(Next::LeaveOut { field: Field::Unused })
                        .into());
                }
                let subject = format!("app {}", work.app.name);
                work.event(EventKind::AppDeleted, &subject, None, None);
                // First, so that a concurrent firing does not wait for the rest.
                jobs::delete_all(work.tx, work.app.id).await?;
                installs::delete(work.tx, work.app.id).await?;
                timers::delete_all(work.tx, work.app.id).await?;
                webhooks::delete_all(work.tx, work.app.id).await?;
                // Without releases and units, nothing of the app is served or kept.
                tags::delete_all(work.tx, work.app.id).await?;
                aliases::delete_all(work.tx, work.app.id).await?;
                releases::expire_all(work.tx, work.app.id, work.act.at).await?;
                units::remove_all(work.tx, work.app.id).await?;
                versions::retire_all_of_app(work.tx, work.app.id).await?;
                // After that, because accepting an execution locks its version: all accepted ones
                // are visible now, and no more can follow.
                executions::cancel_all(work.tx, work.app.id, work.act.at).await?;
                qinling::forget_app(work.tx, work.app.id).await?;
                deployments::delete_all(work.tx, work.app.id).await?;
                builds::delete_all(work.tx, work.app.id).await?;
                rollouts::close_all(work.tx, work.app.id, work.act.at).await?;
                work.app.live_split_id = None;
                work.app.live_release_id = None;
                work.app.latest_release_id = None;
                apps::mark_deleted(work.tx, work.app.id, work.act.at).await
            })
        })
        .await
    }

    /// Moves the app to a plan. The limits of a smaller plan apply from the next release on.
    pub async fn app_set_plan(&self, name: &AppName, plan: PlanName, actor: &str) -> Result<Written<App>> {
        self.work(name, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                if work.app.plan != plan {
                    let before = json!({ "plan": work.app.plan });
                    let subject = format!("app {}", work.app.name);
                    work.event(EventKind::PlanChanged, &subject, Some(before), Some(json!({ "plan": plan })));
                    work.app.plan = plan;
                }
                crate::read::app_view(work.tx, &work.app).await
            })
        })
        .await
    }
}
