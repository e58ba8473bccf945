//! A catalog whose writes return their results without the effects, which only a server applies.

use std::collections::HashMap;
use std::ops::Deref;

use milepost_catalog::*;
use milepost_model::change::UnitKey;
use milepost_model::check::FunctionCheck;
use milepost_model::install::{HoldInstall, Install, InstallChange, LiftInstall};
use milepost_model::job::{Job, JobChange, NewJob};
use milepost_model::pointer::Alias;
use milepost_model::release::{Live, Release};
use milepost_model::rollout::RolloutView;
use milepost_model::snapshot::Version;
use milepost_model::webhook::{NewWebhook, Webhook, WebhookChange};
use milepost_model::*;

#[derive(Clone)]
pub struct PlainCatalog(pub Catalog);

impl Deref for PlainCatalog {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        &self.0
    }
}

macro_rules! plain {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl PlainCatalog {
            $(pub async fn $name(&self, $($argument: $type),*) -> Result<$result, CatalogError> {
                self.0.$name($($argument),*).await.map(Written::unapplied)
            })*

            pub fn serving_under(self, domain: &str) -> Self {
                Self(self.0.serving_under(domain))
            }
        }
    };
}

plain! {
    fn change(app: &AppName, input: ChangeInput) -> ChangeOutcome;
    fn change_checked(app: &AppName, input: ChangeInput, checking: Checking) -> ChangeOutcome;
    fn version_delete(app: &AppName, actor: &str, key: UnitKey, which: VersionsToDelete, dry_run: bool) -> ChangeOutcome;
    fn version_delete_checked(app: &AppName, actor: &str, key: UnitKey, which: VersionsToDelete, dry_run: bool, checking: Checking) -> ChangeOutcome;
    fn alias_set(app: &AppName, actor: &str, new: SetAlias) -> Alias;
    fn alias_rollback(app: &AppName, actor: &str, function: UnitName, alias: AliasName, why: String) -> Alias;
    fn alias_delete(app: &AppName, actor: &str, function: UnitName, alias: AliasName) -> ();
    fn app_create(name: &AppName, plan: PlanName, actor: &str) -> App;
    fn app_delete(name: &AppName, actor: &str) -> ();
    fn app_delete_unused(name: &AppName, actor: &str) -> ();
    fn app_set_plan(name: &AppName, plan: PlanName, actor: &str) -> App;
    fn check_settle(lease: &CheckLease, found: HashMap<i64, FunctionCheck>) -> Settled;
    fn group_delete(app: &AppName, actor: &str, name: GroupName) -> ();
    fn install_create(app: &AppName, input: InstallInput) -> InstallOutcome;
    fn install_upgrade(lease: &InstallLease, revision: i64, input: VersionInput) -> InstallOutcome;
    fn install_change(app: &AppName, actor: &str, change: InstallChange) -> (Install, Vec<Warning>);
    fn install_hold(app: &AppName, actor: &str, hold: HoldInstall) -> Install;
    fn install_lift(app: &AppName, actor: &str, lift: LiftInstall) -> Install;
    fn install_detach(app: &AppName, actor: &str) -> Install;
    fn install_trial_release(lease: &InstallLease) -> (Release, bool);
    fn install_healthy(lease: &InstallLease) -> LeasedInstall;
    fn install_unhealthy(lease: &InstallLease, why: String) -> (LeasedInstall, WentBack);
    fn job_create(app: &AppName, actor: &str, new: NewJob) -> Job;
    fn job_update(app: &AppName, actor: &str, id: String, change: JobChange) -> Job;
    fn job_delete(app: &AppName, actor: &str, id: String) -> ();
    fn live_set(app: &AppName, actor: &str, target: LiveTarget, why: String) -> Live;
    fn rollback(app: &AppName, actor: &str, input: RollbackInput) -> Rollback;
    fn v1_alias_create(app: &AppName, actor: &str, name: AliasName, target: (UnitName, Selector), description: String) -> V1Alias;
    fn v1_alias_update(app: &AppName, actor: &str, name: AliasName, target: Option<(UnitName, Selector)>, description: Option<String>) -> V1Alias;
    fn v1_alias_delete(app: &AppName, actor: &str, name: AliasName) -> ();
    fn v1_change(app: &AppName, actor: &str, wanted: V1Change) -> V1Unit;
    fn v1_function_delete(app: &AppName, actor: &str, function: UnitName) -> ();
    fn v1_version_delete(app: &AppName, actor: &str, function: UnitName, number_or_id: String) -> ();
    fn v1_publish(app: &AppName, actor: &str, function: UnitName, description: String) -> V1Version;
    fn v1_describe(app: &AppName, actor: &str, function: UnitName, number_or_id: String, description: String) -> V1Version;
    fn release_create(app: &AppName, actor: &str, app_version: Option<String>, why: String) -> (Release, Vec<String>);
    fn release_expire(app: &AppName, actor: &str, name: String, why: String) -> Release;
    fn rollout_apply(app: &AppName, actor: &str, new: RolloutEvent) -> RolloutView;
    fn rollout_start(app: &AppName, actor: &str, new: NewRollout) -> RolloutView;
    fn tag_set(app: &AppName, actor: &str, tag: TagName, release: String, why: String) -> Release;
    fn tag_delete(app: &AppName, actor: &str, tag: TagName) -> ();
    fn token_create(name: String, hash: Digest, role: Role, app: Option<AppName>, actor: &str) -> TokenRow;
    fn token_delete(name: String) -> ();
    fn version_describe(app: &AppName, actor: &str, key: UnitKey, selector: Selector, description: String) -> Version;
    fn webhook_create(app: &AppName, actor: &str, new: NewWebhook, sealed: Option<Vec<u8>>) -> Webhook;
    fn webhook_update(app: &AppName, actor: &str, id: String, change: WebhookChange, secret: SecretChange) -> Webhook;
    fn webhook_delete(app: &AppName, actor: &str, id: String) -> ();
}
