//! From a manifest to a release: what `deploy` and `up` have in common.

use milepost_client::api::AppUrls;
use milepost_client::{ClientError, UploadSummary};
use milepost_model::change::{UnitAction, UnitKey, UnitOutcome};
use milepost_model::plan::Reason;
use milepost_model::{AppName, ChangeOutcome, PlanName, UnitKind};

use super::git;
use crate::commands::shared::ChangeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::manifest::Manifest;

/// What a deploy did.
pub struct Deployed {
    pub outcome: ChangeOutcome,
    pub urls: AppUrls,
    pub sent: UploadSummary,
}

/// Makes the app if it is not there, sends the files, then the one change.
pub async fn apply(context: &Context<'_>, manifest: &Manifest, args: &ChangeArgs) -> Result<Deployed> {
    if !ensure_app(context, manifest, args.dry_run).await? {
        let sent = UploadSummary::default();
        return Ok(Deployed { outcome: all_new(manifest), urls: AppUrls::default(), sent });
    }
    let (outcome, sent) = change(context, manifest, args).await?;
    // The deploy is done: that an address cannot be told is not its failure.
    let status = if outcome.dry_run { None } else { context.client.status(&context.app).await.ok() };
    Ok(Deployed { outcome, urls: status.map(|status| status.urls).unwrap_or_default(), sent })
}

/// Sends the files, then the one change, to an app that is there.
pub async fn change(
    context: &Context<'_>,
    manifest: &Manifest,
    args: &ChangeArgs,
) -> Result<(ChangeOutcome, UploadSummary)> {
    let (puts, git) = tokio::join!(manifest.puts(context), git::facts(&manifest.place.folder));
    let (puts, sent) = puts?;
    let mut change = args.change(puts, Vec::new());
    change.git = git;
    Ok((context.change(&change).await?, sent))
}

/// Whether the app is there now. A dry run does not make it.
async fn ensure_app(context: &Context<'_>, manifest: &Manifest, dry_run: bool) -> Result<bool> {
    match context.client.app_get(&context.app).await {
        Ok(_) => return Ok(true),
        Err(ClientError::Refused(problem)) if problem.code == "app_not_found" => {}
        Err(error) => return Err(error.into()),
    }
    manifest.check_alone()?;
    if dry_run {
        context.ui.say(&format!("App {} does not exist; it would be created.", context.app));
        return Ok(false);
    }
    let name: AppName = context.app.parse()?;
    let app = context.client.app_create(&name, PlanName::default()).await?;
    context.ui.say(&format!("App {} created, plan {}.", app.name, app.plan));
    Ok(true)
}

/// The plan for an app that does not exist: nobody to ask, and nothing to compare with.
fn all_new(manifest: &Manifest) -> ChangeOutcome {
    let created = |key: UnitKey| UnitOutcome {
        kind: key.kind,
        name: key.name,
        action: UnitAction::Created,
        number: Some(1),
        uid: None,
        label: None,
        digest: None,
        reasons: vec![Reason::New],
    };
    ChangeOutcome {
        changed: true,
        dry_run: true,
        app_version: None,
        versions: manifest.keys().into_iter().map(created).collect(),
        release: None,
        expired: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What the app has and the manifest does not speak of, of the kinds that a manifest is about.
pub async fn not_in_manifest(context: &Context<'_>, manifest: &Manifest) -> Result<Vec<UnitKey>> {
    let known = manifest.keys();
    let mut found = Vec::new();
    for kind in [UnitKind::Function, UnitKind::Static, UnitKind::Route, UnitKind::Timer] {
        let units = crate::commands::shared::units(context, kind).await?;
        found
            .extend(units.into_iter().map(|unit| UnitKey { kind, name: unit.name }).filter(|key| !known.contains(key)));
    }
    Ok(found)
}
