//! The change transaction: applies puts and removals, and makes versions, one app version, one
//! release and events.

mod builds;
mod declared;
mod describe;
mod hand_edits;
mod on_live;
mod open_doors;
mod pinned;
pub(crate) mod put;
pub(crate) mod remove;
mod routes;
mod secrets;
mod specs;

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::base::HandEdit;
use milepost_model::change::{Change, UnitAction, UnitKey, UnitOutcome};
use milepost_model::check::ReleaseCheck;
use milepost_model::event::EventKind;
use milepost_model::refusal::{Field, View};
use milepost_model::release::{LiveMode, Release};
use milepost_model::unit_put::Put;
use milepost_model::{AppName, ChangeOutcome, Code, Digest, Next, Refusal, UnitKind, UnitName, Warning};
use serde_json::json;

use crate::db::Ending;
use crate::effects::Written;
use crate::error::{CatalogError, Result};
use crate::releasing::NewRelease;
use crate::tables::app_versions::{self, AppVersionRow};
use crate::tables::{idempotency, releases, units};
use crate::work::Work;
use crate::{Catalog, Checking, releasing};
use on_live::OnLive;
pub(crate) use pinned::{not_live_warning, pinned_after_delete, pinned_warning};

/// A change from the server: secrets sealed, everything else as sent.
#[derive(Debug, Clone)]
pub struct ChangeInput {
    pub change: Change,
    /// One for each secret that the change puts.
    pub secrets: BTreeMap<UnitName, SealedSecret>,
    pub actor: String,
    /// A change that is sent twice with the same key is applied once.
    pub idempotency_key: Option<String>,
}

/// A secret's value encrypted under the server's key, and its fingerprints under that key.
#[derive(Debug, Clone)]
pub struct SealedSecret {
    /// Bound to app and name.
    pub fingerprint: Digest,
    /// Of the value alone, as in versions from before fingerprints were bound.
    pub former_fingerprint: Digest,
    pub sealed: Vec<u8>,
}

/// Number of newest app versions whose uids are suggested when an expected one does not exist.
const SUGGEST_FROM: i64 = 100;

/// State shared by the steps of one change.
pub(crate) struct Draft<'a> {
    pub uid: String,
    /// The number of the app version that the change makes.
    pub seq: i64,
    pub dry_run: bool,
    pub secrets: &'a BTreeMap<UnitName, SealedSecret>,
    /// Everything that the change puts.
    puts: &'a [Put],
    /// Packages whose source has no build result yet.
    builds: Vec<builds::Needed>,
    taken_over: Vec<UnitKey>,
    /// For a change on live: the head versions of the units that differ in live.
    heads: BTreeMap<i64, i64>,
    hand_edits: Vec<HandEdit>,
    /// Versions of environments that are known to run.
    pub running: BTreeSet<i64>,
    pub outcomes: Vec<UnitOutcome>,
    pub notices: Vec<Warning>,
}

impl Draft<'_> {
    fn changes(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.action != UnitAction::Unchanged)
    }
}

impl Catalog {
    /// Applies a change, or with `dry_run` reports what it would do.
    pub async fn change(&self, app: &AppName, input: ChangeInput) -> Result<Written<ChangeOutcome>> {
        let ending = if input.change.dry_run { Ending::Forget } else { Ending::Commit };
        let actor = input.actor.clone();
        self.work(app, &actor, ending, move |work| Box::pin(async move { apply(work, &input).await })).await
    }

    /// Like [`Catalog::change`]; `checking` says who checks the release before it may become latest
    /// and live.
    pub async fn change_checked(
        &self,
        app: &AppName,
        input: ChangeInput,
        checking: Checking,
    ) -> Result<Written<ChangeOutcome>> {
        let ending = if input.change.dry_run { Ending::Forget } else { Ending::Commit };
        let actor = input.actor.clone();
        self.work(app, &actor, ending, move |work| {
            Box::pin(async move {
                // A dry run shows the outcome as if the check passed.
                work.checking = if input.change.dry_run { Checking::Unasked } else { checking };
                apply(work, &input).await
            })
        })
        .await
    }
}

pub(crate) async fn apply(work: &mut Work<'_>, input: &ChangeInput) -> Result<ChangeOutcome> {
    let change = &input.change;
    if let Some(key) = &input.idempotency_key
        && let Some((earlier, outcome)) = idempotency::find(work.tx, work.app.id, key).await?
    {
        return replay(key, secrets::is_same_request(input, earlier), &outcome);
    }
    if !change.check {
        work.checking = Checking::Skipped;
    }
    check_expectation(work, change).await?;
    check_live_expectation(work, change).await?;
    check_once_each(change)?;

    let uid = work.fresh_id().await?;
    let seq = work.app.head_seq + 1;
    let mut draft = Draft {
        uid,
        seq,
        dry_run: change.dry_run,
        secrets: &input.secrets,
        puts: &change.puts,
        builds: Vec::new(),
        taken_over: Vec::new(),
        heads: BTreeMap::new(),
        hand_edits: Vec::new(),
        running: BTreeSet::new(),
        outcomes: Vec::new(),
        notices: Vec::new(),
    };
    let on_live = on_live::begin(work, change, seq).await?;
    draft.heads = on_live.as_ref().map(OnLive::heads).unwrap_or_default();
    let mut puts: Vec<_> = change.puts.iter().collect();
    puts.sort_by_key(|put| put.unit.kind());
    // Checked first: "not found" is a better error for a missing function than one about its
    // package.
    for put in &puts {
        put::check_only(work, put).await?;
    }
    let declared = declared::begin(work, change).await?;
    for put in puts {
        put::apply(work, &mut draft, put).await?;
    }
    // After all puts: errors that a build cannot fix are reported before the client builds.
    builds::check(&draft)?;
    for key in &change.removes {
        remove::apply(work, &mut draft, key).await?;
    }
    let mut removed = change.removes.clone();
    if let Some(declared) = declared {
        draft.taken_over = declared.own(work, &mut draft, &change.removes).await?;
        removed.extend(declared.prune(work, &mut draft, &change.removes).await?);
        draft.hand_edits = declared.hand_edits(work, &mut draft, &change.removes).await?;
    }
    let mut moved = Vec::new();
    // A change without effect is rolled back below, so it removes nothing and cannot be blocked.
    if let Some(on_live) = &on_live
        && draft.changes()
    {
        on_live.leave(work).await?;
        moved = on_live.reverted();
    }
    remove::check_references(work, &removed).await?;
    routes::check(work, &mut draft).await?;
    check_plan(work, &draft, on_live.as_ref()).await?;
    moved.extend(draft.outcomes.iter().cloned());
    crate::ops::qinling::alias::follow(work, &moved).await?;

    let outcome = finish(work, change, draft, on_live).await?;
    if let Some(key) = &input.idempotency_key
        && !change.dry_run
    {
        let text = serde_json::to_string(&outcome).map_err(|error| CatalogError::inconsistent(error.to_string()))?;
        idempotency::insert(work.tx, work.app.id, key, &secrets::request_digest(input), &text, work.act.at).await?;
    }
    Ok(outcome)
}

/// Makes the app version and the release, if anything changed.
async fn finish(
    work: &mut Work<'_>,
    change: &Change,
    mut draft: Draft<'_>,
    on_live: Option<OnLive>,
) -> Result<ChangeOutcome> {
    let changed = draft.changes();
    if change.dry_run {
        // The real change draws other ids, so these must not be shown.
        for unit in &mut draft.outcomes {
            if matches!(unit.action, UnitAction::Created | UnitAction::Updated) {
                unit.uid = None;
            }
            // The digest of a value that is not set would confirm a guess.
            if unit.kind == UnitKind::Secret {
                unit.digest = None;
            }
        }
    }
    let mut outcome = ChangeOutcome {
        changed,
        dry_run: change.dry_run,
        app_version: None,
        versions: draft.outcomes,
        release: None,
        check: ReleaseCheck::default(),
        expired: Vec::new(),
        builds: draft.builds.into_iter().map(|needed| needed.package).collect(),
        taken_over: draft.taken_over,
        left_out: Vec::new(),
        hand_edits: draft.hand_edits,
        warnings: Vec::new(),
        notices: Vec::new(),
    };
    if changed {
        let message = match &on_live {
            _ if !change.message.is_empty() => change.message.clone(),
            Some(_) => format!("{} (on live)", describe::describe(&outcome.versions)),
            None => describe::describe(&outcome.versions),
        };
        let deployment = change.deployment.as_ref().map(|deployment| deployment.id.as_str());
        make_app_version(work, &draft.uid, draft.seq, &message, change.git.clone(), deployment).await?;
        if let Some(on_live) = &on_live {
            outcome.left_out = on_live.left_out(work).await?;
            on_live.note_install(work, draft.seq).await?;
        }
        outcome.app_version = (!change.dry_run).then_some(draft.uid);
        if change.release {
            let pinned = work.app.live_mode == LiveMode::Pinned;
            let function = |unit: &UnitOutcome| unit.kind == UnitKind::Function && unit.action != UnitAction::Unchanged;
            // Live has other functions than the newest release, even if the change touches none.
            let same_functions = on_live.is_none() && !outcome.versions.iter().any(function);
            let pins_live = pinned && on_live.is_some();
            let new = NewRelease { seq: draft.seq, why: &message, same_functions, pins_live };
            let (release, expired) = releasing::make(work, new).await?;
            if !change.dry_run {
                let view = releasing::view(work.tx, &work.app, &release).await?;
                outcome.check = view.check.clone();
                outcome.release = Some(view);
            }
            outcome.expired = expired;
            let live_stays = pinned && on_live.is_none();
            draft.notices.extend(open_doors::warnings(work, &outcome.versions, &release, live_stays).await?);
            if live_stays {
                draft.notices.push(pinned_warning(work, &release.name, change.dry_run).await?);
            }
        }
    } else if let Some(on_live) = on_live {
        outcome.app_version = Some(on_live.undo(work).await?);
        outcome.taken_over.clear();
    } else if work.app.head_seq > 0 {
        outcome.app_version = Some(app_versions::get(work.tx, work.app.id, work.app.head_seq).await?.uid);
        draft.notices.extend(not_live_warning(work).await?);
        if let Some(release) = held_back(work).await? {
            outcome.check = release.check.clone();
            outcome.release = Some(release);
        }
    }
    outcome.notices = draft.notices;
    Ok(outcome)
}

/// Returns the release of the current app version if its check holds it back: nothing changed, but
/// users do not get it yet.
async fn held_back(work: &mut Work<'_>) -> Result<Option<Release>> {
    match releases::of_app_version(work.tx, work.app.id, work.app.head_seq).await? {
        Some(release) if release.check.holds_back() => releasing::view(work.tx, &work.app, &release).await.map(Some),
        _ => Ok(None),
    }
}

pub(crate) async fn make_app_version(
    work: &mut Work<'_>,
    uid: &str,
    seq: i64,
    message: &str,
    git: Option<milepost_model::GitFacts>,
    deployment: Option<&str>,
) -> Result<()> {
    let row = AppVersionRow {
        seq,
        uid: uid.to_owned(),
        created_at: work.act.at,
        created_by: work.act.actor.clone(),
        message: message.to_owned(),
        git,
    };
    app_versions::insert(work.tx, work.app.id, &row).await?;
    work.app.head_seq = seq;
    let mut after = json!({ "id": uid, "number": seq, "message": message, "git": row.git });
    if let Some(deployment) = deployment {
        after["deployment"] = deployment.into();
    }
    work.event(EventKind::AppVersionCreated, &format!("app version {uid}"), None, Some(after));
    Ok(())
}

fn replay(key: &str, same_request: bool, outcome: &str) -> Result<ChangeOutcome> {
    if same_request {
        return serde_json::from_str(outcome).map_err(|error| CatalogError::inconsistent(error.to_string()));
    }
    let message = format!("the idempotency key `{key}` was used for another change");
    Err(Refusal::new(Code::IdempotencyMismatch, message).correct("use a fresh key for each change").into())
}

/// The user confirmed a change of what live had. If live moved since, its content differs.
async fn check_live_expectation(work: &mut Work<'_>, change: &Change) -> Result<()> {
    let Some(expected) = &change.expect_live else { return Ok(()) };
    let live = match work.app.live_release_id {
        Some(id) => Some(work.release_name(id).await?),
        None => None,
    };
    if live.as_ref() == Some(expected) {
        return Ok(());
    }
    let now = live.map_or_else(|| "nothing is live".to_owned(), |live| format!("live is at release `{live}`"));
    let message = format!("live of app `{}` has moved: {now}, but the change expects `{expected}`", work.app.name);
    Err(Refusal::new(Code::HeadMoved, message).see(View::ReleaseHistory).next(Next::Retry).into())
}

async fn check_expectation(work: &mut Work<'_>, change: &Change) -> Result<()> {
    let Some(expected) = &change.expect else { return Ok(()) };
    if work.app.head_seq == 0 {
        let message = format!("app `{}` has no version yet, but the change expects `{expected}`", work.app.name);
        return Err(Refusal::new(Code::HeadMoved, message).next(Next::LeaveOut { field: Field::Expect }).into());
    }
    let head = app_versions::get(work.tx, work.app.id, work.app.head_seq).await?;
    if head.uid == *expected {
        return Ok(());
    }
    if app_versions::find_by_uid(work.tx, work.app.id, expected).await?.is_none() {
        let recent = app_versions::list(work.tx, work.app.id, None, SUGGEST_FROM).await?;
        let uids: Vec<String> = recent.into_iter().map(|row| row.uid).collect();
        let message = format!("app `{}` is at `{}` and has no app version `{expected}`", work.app.name, head.uid);
        let see = [Next::See { view: View::AppVersions }];
        return Err(Refusal::not_found(Code::AppVersionNotFound, message, expected, &uids, see).into());
    }
    let message = format!(
        "app `{}` has moved: `{}` ({}) by {} at {} came after `{expected}`",
        work.app.name, head.uid, head.message, head.created_by, head.created_at
    );
    Err(Refusal::new(Code::HeadMoved, message)
        .see(View::Differences { from: expected.clone(), to: head.uid.clone() })
        .next(Next::Expect { app_version: head.uid })
        .into())
}

fn check_once_each(change: &Change) -> Result<()> {
    let mut seen = BTreeSet::new();
    let keys = change.puts.iter().map(|put| UnitKey { kind: put.unit.kind(), name: put.name.clone() });
    for key in keys.chain(change.removes.iter().cloned()) {
        if !seen.insert(key.clone()) {
            let message = format!("the change names {key} twice");
            return Err(Refusal::new(Code::InvalidRequest, message).correct("put or remove each unit once").into());
        }
    }
    Ok(())
}

/// Only a change that adds functions can exceed the plan. An app above a smaller plan may still
/// shrink.
async fn check_plan(work: &mut Work<'_>, draft: &Draft<'_>, on_live: Option<&OnLive>) -> Result<()> {
    let adds = |outcome: &UnitOutcome| outcome.kind == UnitKind::Function && outcome.action == UnitAction::Created;
    if !draft.outcomes.iter().any(adds) && !on_live.is_some_and(OnLive::brings_functions_back) {
        return Ok(());
    }
    let count = units::count_present(work.tx, work.app.id, UnitKind::Function).await?;
    check_function_count(work, count)
}

pub(crate) fn check_function_count(work: &Work<'_>, count: i64) -> Result<()> {
    let Some(bound) = work.app.plan.limits().functions.filter(|bound| count > i64::from(*bound)) else { return Ok(()) };
    let message = format!(
        "app `{}` would have {count} functions, but its plan `{}` allows {bound}",
        work.app.name, work.app.plan
    );
    Err(Refusal::new(Code::PlanLimit, message)
        .correct("remove some functions")
        .next(Next::LargerPlan { app: work.app.name.to_string() })
        .limit(u64::from(bound), u64::try_from(count).unwrap_or_default())
        .into())
}
