//! Changes of a deployment: which units it owns, and which it removes because it no longer declares
//! them.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::base::HandEdit;
use milepost_model::change::{Change, Declaration, Deployment, UnitAction, UnitKey};
use milepost_model::event::EventKind;
use milepost_model::plan::Reason;
use milepost_model::refusal::{Field, OwnedUnit, Use, User, UserKind, Warning};
use milepost_model::{Code, Next, Refusal, UnitKind, UnitName};
use serde_json::json;

use super::{Draft, hand_edits, remove};
use crate::error::Result;
use crate::tables::units::{Only, UnitRow};
use crate::tables::{deployments, units, versions};
use crate::work::Work;

/// A declared change, with the state of the app before its first put.
pub(super) struct Declared<'c> {
    declaration: &'c Declaration,
    id: i64,
    deployment: Deployment,
    /// The units that the app had.
    before: BTreeMap<UnitKey, UnitRow>,
    puts: BTreeSet<UnitKey>,
    /// Units that another deployment owns, with that deployment.
    conflicts: BTreeMap<UnitKey, Deployment>,
    /// Ids of its own units whose version it did not make.
    by_hand: BTreeSet<i64>,
    /// Units that it puts and that it owned before they were removed.
    removed: Vec<UnitRow>,
}

/// Looks up the owners of the units that the change puts, and rejects it if another deployment owns
/// one. Returns `None` for a change without a deployment.
pub(super) async fn begin<'c>(work: &mut Work<'_>, change: &'c Change) -> Result<Option<Declared<'c>>> {
    let Some(declaration) = &change.deployment else { return Ok(None) };
    if declaration.id.is_empty() {
        return Err(Refusal::new(Code::InvalidRequest, "the deployment of the change has no id")
            .correct("give `deployment.id`, the same with each change of the same folder")
            .into());
    }
    let name = if declaration.name.is_empty() { &declaration.id } else { &declaration.name };
    let deployment = Deployment { id: declaration.id.clone(), name: name.clone() };
    let id = deployments::put(work.tx, work.app.id, &deployment).await?;
    let present = units::list_present(work.tx, work.app.id, Only::default(), None, i64::MAX).await?;
    let before: BTreeMap<UnitKey, UnitRow> = present.into_iter().map(|unit| (unit.key(), unit)).collect();
    let keys = change.puts.iter().map(|put| UnitKey { kind: put.unit.kind(), name: put.name.clone() });
    let puts: BTreeSet<UnitKey> = keys.collect();
    let mut conflicts = BTreeMap::new();
    for key in &puts {
        if let Some(owner) = before.get(key).and_then(|unit| unit.deployment_id).filter(|owner| *owner != id) {
            conflicts.insert(key.clone(), deployments::get(work.tx, owner).await?);
        }
    }
    if !conflicts.is_empty() && !declaration.allow_conflicts {
        return Err(refuse(&deployment, &conflicts).into());
    }
    let by_hand = versions::made_by_hand(work.tx, work.app.id, id).await?.into_iter().collect();
    let mut removed = units::list_removed_of(work.tx, work.app.id, id).await?;
    removed.retain(|unit| puts.contains(&unit.key()));
    Ok(Some(Declared { declaration, id, deployment, before, puts, conflicts, by_hand, removed }))
}

fn refuse(deployment: &Deployment, conflicts: &BTreeMap<UnitKey, Deployment>) -> Refusal {
    let message = format!("deployment `{}` puts units that belong to another deployment", deployment.name);
    let owner = |(key, owner): (&UnitKey, &Deployment)| {
        User::new(UserKind::Deployment, full_name(owner), Use::Owns, key.to_string())
    };
    Refusal::new(Code::OwnedElsewhere, message)
        .correct("remove them from one of the two folders")
        .next(Next::Give { field: Field::AllowConflicts })
        .users(conflicts.iter().map(owner).collect())
}

/// Includes the id, because two folders may have the same name.
fn full_name(deployment: &Deployment) -> String {
    if deployment.id == deployment.name {
        return deployment.name.clone();
    }
    format!("{} ({})", deployment.name, deployment.id)
}

impl Declared<'_> {
    fn was_free(&self, key: &UnitKey) -> bool {
        self.before.get(key).is_some_and(|unit| unit.deployment_id.is_none())
    }

    /// Makes the deployment the owner of the units that it puts, and of the ones that it claims and
    /// that have no owner.
    pub(super) async fn own(
        &self,
        work: &mut Work<'_>,
        draft: &mut Draft<'_>,
        removes: &[UnitKey],
    ) -> Result<Vec<UnitKey>> {
        let mut taken_over = Vec::new();
        let claims = self.declaration.claims.iter().filter(|key| self.was_free(key) && !removes.contains(key));
        let keys: BTreeSet<&UnitKey> = self.puts.iter().chain(claims).collect();
        for key in keys {
            let owner = self.before.get(key).and_then(|unit| unit.deployment_id);
            if owner == Some(self.id) {
                continue;
            }
            units::set_deployment(work.tx, work.app.id, key, self.id).await?;
            // Ownership of a new unit is not worth an event.
            if self.before.contains_key(key) {
                let before = self.conflicts.get(key).map(|owner| json!({ "deployment": owner }));
                let after = json!({ "deployment": self.deployment });
                work.event(EventKind::UnitTakenOver, &key.to_string(), before, Some(after));
                taken_over.push(key.clone());
            }
        }
        taken_over.extend(self.claim_ahead(work, removes).await?);
        self.warn(draft);
        Ok(taken_over)
    }

    /// Returns the manual edits and removals that the change undoes. A version that was made by
    /// hand but matches the folder belongs to the deployment from now on. Call after all puts and
    /// removals.
    pub(super) async fn hand_edits(
        &self,
        work: &mut Work<'_>,
        draft: &mut Draft<'_>,
        removes: &[UnitKey],
    ) -> Result<Vec<HandEdit>> {
        let mut edits = Vec::new();
        for (key, unit) in self.before.iter().filter(|(_, unit)| self.by_hand.contains(&unit.id)) {
            let outcome = draft.outcomes.iter().find(|outcome| outcome.kind == key.kind && outcome.name == key.name);
            match outcome.map(|outcome| outcome.action) {
                Some(UnitAction::Unchanged) if self.puts.contains(key) => {
                    work.event(
                        EventKind::UnitTakenOver,
                        &key.to_string(),
                        None,
                        Some(json!({ "deployment": self.deployment })),
                    );
                    draft.taken_over.push(key.clone());
                }
                Some(UnitAction::Updated) => edits.extend(hand_edits::updated(work, unit, self.id).await?),
                Some(UnitAction::Removed) if !removes.contains(key) => {
                    edits.extend(hand_edits::removed(work, unit).await?);
                }
                _ => {}
            }
        }
        for unit in &self.removed {
            edits.extend(hand_edits::made_again(work, unit, &self.deployment.id).await?);
        }
        versions::declare(work.tx, work.app.id, self.id).await?;
        Ok(edits)
    }

    /// Makes the deployment the owner of secrets that it claims before they are set. Returns the
    /// ones that it did not claim before.
    async fn claim_ahead(&self, work: &mut Work<'_>, removes: &[UnitKey]) -> Result<Vec<UnitKey>> {
        let wanted = |key: &&UnitKey| {
            let named_otherwise = self.before.contains_key(key) || self.puts.contains(key) || removes.contains(key);
            key.kind == UnitKind::Secret && !named_otherwise && UnitName::for_kind(key.kind, key.name.as_str()).is_ok()
        };
        let claims: BTreeSet<&UnitKey> = self.declaration.claims.iter().filter(wanted).collect();
        for unit in units::list_claimed_ahead(work.tx, work.app.id, self.id).await? {
            if !claims.contains(&unit.key()) {
                units::save(work.tx, &UnitRow { deployment_id: None, ..unit }).await?;
            }
        }
        let mut claimed = Vec::new();
        for key in claims {
            let unit = match units::find(work.tx, work.app.id, key.kind, &key.name).await? {
                Some(unit) => unit,
                None => units::insert(work.tx, work.app.id, key.kind, &key.name).await?,
            };
            if unit.deployment_id.is_none() {
                units::save(work.tx, &UnitRow { deployment_id: Some(self.id), ..unit }).await?;
                claimed.push(key.clone());
            }
        }
        Ok(claimed)
    }

    fn warn(&self, draft: &mut Draft<'_>) {
        if !self.conflicts.is_empty() {
            let owned =
                |(key, owner): (&UnitKey, &Deployment)| OwnedUnit { unit: key.to_string(), owner: full_name(owner) };
            let units = self.conflicts.iter().map(owned).collect();
            draft.notices.push(Warning::TakesOver { deployment: self.deployment.name.clone(), units });
        }
        let differs = |key: &&UnitKey| {
            let outcome = draft.outcomes.iter().find(|unit| unit.kind == key.kind && unit.name == key.name);
            outcome.is_some_and(|unit| unit.action != UnitAction::Unchanged && unit.reasons != [Reason::Asked])
        };
        let free = self.puts.iter().filter(|key| self.was_free(key));
        let adopted: Vec<String> = free.filter(differs).map(ToString::to_string).collect();
        if !adopted.is_empty() {
            draft.notices.push(Warning::Adopts { deployment: self.deployment.name.clone(), units: adopted });
        }
    }

    /// Removes what the deployment put earlier and no longer declares, and returns it. Packages,
    /// secrets and environments that are still needed stay: the reference check that follows covers
    /// only functions and their triggers.
    pub(super) async fn prune(
        &self,
        work: &mut Work<'_>,
        draft: &mut Draft<'_>,
        removes: &[UnitKey],
    ) -> Result<Vec<UnitKey>> {
        let claims: BTreeSet<&UnitKey> = self.declaration.claims.iter().collect();
        let going = self.before.values().filter(|unit| unit.deployment_id == Some(self.id)).map(UnitRow::key);
        let unnamed = going.filter(|key| !self.puts.contains(key) && !claims.contains(key) && !removes.contains(key));
        let mut steps: [Vec<UnitKey>; 3] = Default::default();
        for key in unnamed {
            match key.kind {
                UnitKind::Secret if !self.declaration.prune_secrets => {
                    draft.notices.push(Warning::SecretKept { name: key.name.to_string() });
                }
                UnitKind::Package | UnitKind::Secret => steps[1].push(key),
                UnitKind::Environment => steps[2].push(key),
                _ => steps[0].push(key),
            }
        }
        // Dependents go before what they depend on: triggers, then functions, then packages and
        // secrets, then environments.
        steps[0].sort_by(|one, other| other.cmp(one));
        let mut gone = Vec::new();
        for (position, keys) in steps.into_iter().enumerate() {
            let needed = if position == 0 { Vec::new() } else { remove::needed(work, &keys).await? };
            for key in keys {
                let needed_by: Vec<String> =
                    needed.iter().filter(|(_, needed)| *needed == key).map(|(by, _)| by.to_string()).collect();
                if !needed_by.is_empty() {
                    draft.notices.push(Warning::UnitKept { unit: key.to_string(), needed_by });
                    continue;
                }
                remove::apply(work, draft, &key).await?;
                gone.push(key);
            }
        }
        Ok(gone)
    }
}
