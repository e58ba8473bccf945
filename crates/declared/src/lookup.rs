//! Looks up in the app what a folder refers to and does not declare: environments, packages and
//! functions, the aliases and versions of triggers, and secrets.

use std::collections::BTreeMap;

use milepost_client::ClientError;
use milepost_model::change::UnitKey;
use milepost_model::snapshot::Unit;
use milepost_model::{Code, PlanName, Selector, UnitKind, UnitName, suggest};

use super::error::Result;
use super::session::Session;
use super::{Declared, Next, Pointer, Problem, Reference, over_plan};

#[derive(Debug, Default)]
pub struct LookedUp {
    pub errors: Vec<Problem>,
    /// Secrets without a value. Only warnings: values are not in the folder, and may be set later.
    pub secrets: Vec<Problem>,
    /// Units that belong to another deployment. An apply rejects them unless they are taken over.
    pub conflicts: Vec<Problem>,
}

/// The parts of an app that folders refer to.
#[derive(Debug, Default)]
struct App {
    /// None: the app does not exist yet.
    name: Option<String>,
    plan: PlanName,
    units: Vec<Unit>,
    aliases: BTreeMap<UnitName, Vec<String>>,
    /// Versions that were looked up and do not exist.
    no_versions: Vec<(UnitName, Selector)>,
}

/// Finds everything that neither the folder nor the app has. A missing app has nothing.
pub async fn look_up(session: &Session<'_>, declared: &Declared) -> Result<LookedUp> {
    let mut app = App { name: Some(session.app.to_owned()), units: session.all_units().await?, ..App::default() };
    match session.client.app_get(session.app).await {
        Err(ClientError::Refused(problem)) if problem.code == Code::AppNotFound.as_str() => app.name = None,
        found => app.plan = found?.plan,
    }
    for Pointer { function, version, .. } in &declared.pointers {
        if app.function(function).is_none() {
            continue;
        }
        if let Selector::Alias(_) = version {
            if !app.aliases.contains_key(function) {
                let aliases = session.client.alias_list(session.app, function.as_str()).await?;
                let names = aliases.into_iter().map(|alias| alias.name.to_string()).collect();
                app.aliases.insert(function.clone(), names);
            }
            continue;
        }
        let key = UnitKey { kind: UnitKind::Function, name: function.clone() };
        match session.client.version_get(session.app, &key, &version.to_string()).await {
            Err(ClientError::Refused(problem)) if matches!(problem.status, 404 | 410) => {
                app.no_versions.push((function.clone(), version.clone()));
            }
            found => drop(found?),
        }
    }
    Ok(app.lacks(declared, session.app))
}

/// Like [`look_up`], for an app that does not exist yet.
pub fn in_new_app(app: &str, declared: &Declared) -> LookedUp {
    App::default().lacks(declared, app)
}

/// Returns the unset secrets that only the folder itself lists. The server reports those of
/// functions.
pub async fn unset_secrets(session: &Session<'_>, declared: &Declared) -> Result<Vec<Problem>> {
    let own: Vec<&Reference> = declared.claims.iter().filter(|claim| !declared.is_wanted(&claim.key.name)).collect();
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let set = session.units(UnitKind::Secret).await?;
    let is_set = |claim: &&Reference| set.iter().any(|unit| unit.name == claim.key.name);
    Ok(own.into_iter().filter(|claim| !is_set(claim)).map(|claim| unset(claim, session.app)).collect())
}

fn unset(claim: &Reference, app: &str) -> Problem {
    let message = format!("{} refers to secret `{}`, which is not set", claim.by, claim.key.name);
    let next = Next::SetSecret { name: claim.key.name.clone(), app: app.to_owned() };
    Problem::new(claim.place.clone(), message, None).next(next)
}

impl App {
    fn function(&self, name: &UnitName) -> Option<&Unit> {
        self.units.iter().find(|unit| unit.kind == UnitKind::Function && unit.name == *name)
    }

    /// `app` is its name, also if it does not exist yet.
    fn lacks(&self, declared: &Declared, app: &str) -> LookedUp {
        let names_of = |kind: UnitKind| -> Vec<&str> {
            self.units.iter().filter(|unit| unit.kind == kind).map(|unit| unit.name.as_str()).collect()
        };
        let mut errors = Vec::new();
        for reference in declared.unresolved() {
            let names = names_of(reference.key.kind);
            if !names.contains(&reference.key.name.as_str()) {
                errors.push(declared.unknown(reference, &names, self.name.as_deref()));
            }
        }
        errors.extend(declared.pointers.iter().filter_map(|pointer| self.lost_pointer(declared, pointer, app)));
        errors.extend(over_plan::problems(declared, self.plan, &self.units));
        let secrets = names_of(UnitKind::Secret);
        let unset_ones = declared.claims.iter().filter(|claim| !secrets.contains(&claim.key.name.as_str()));
        let mut secrets: Vec<Problem> = unset_ones.map(|claim| unset(claim, app)).collect();
        errors.sort_by(|one, other| one.place.cmp(&other.place));
        secrets.sort_by(|one, other| one.place.cmp(&other.place));
        LookedUp { errors, secrets, conflicts: self.conflicts(declared) }
    }

    fn conflicts(&self, declared: &Declared) -> Vec<Problem> {
        let conflict = |unit: &Unit| {
            let owner = unit.deployment.as_ref().filter(|owner| owner.id != declared.deployment.id)?;
            let place = declared.unit(unit.kind, &unit.name)?.place.clone();
            let message = format!("{} `{}` belongs to deployment {}", unit.kind, unit.name, owner.name);
            Some(Problem::new(place, message, None).next(Next::TakeOver))
        };
        self.units.iter().filter_map(conflict).collect()
    }

    /// The error for a trigger whose alias or pinned version does not exist in the app.
    fn lost_pointer(&self, declared: &Declared, pointer: &Pointer, app: &str) -> Option<Problem> {
        let Pointer { place, by, function, version } = pointer;
        let there = self.function(function);
        let is_declared = declared.unit(UnitKind::Function, function).is_some();
        if there.is_none() && !is_declared {
            // The missing function is reported instead.
            return None;
        }
        let (function, app) = (function.clone(), app.to_owned());
        if let Selector::Alias(alias) = version {
            let known = self.aliases.get(&function).map(Vec::as_slice).unwrap_or_default();
            if known.iter().any(|known| known == alias.as_str()) {
                return None;
            }
            let message = format!("{by} follows alias `{alias}` of function `{function}`, which the app does not have");
            let near = suggest::closest(alias.as_str(), known.iter().map(String::as_str));
            let hint =
                (there.is_some() && !near.is_empty()).then(|| format!("did you mean {}?", suggest::or_list(&near)));
            let alias = alias.clone();
            let next = match there {
                None => Next::CreateAliasLater { function, alias, app },
                Some(_) => Next::CreateAlias { function, alias, app },
            };
            return Some(Problem::new(place.clone(), message, hint).next(next));
        }
        let newest = there.map_or(0, |unit| unit.current.number);
        // The version that this apply may create.
        let may_come = is_declared && *version == Selector::Number(newest + 1);
        let missing = there.is_none() || self.no_versions.contains(&(function.clone(), version.clone()));
        if !missing || may_come {
            return None;
        }
        let message = format!("{by} refers to version {version} of function `{function}`, which the app does not have");
        let problem = |hint: Option<&str>| Problem::new(place.clone(), message, hint.map(str::to_owned));
        if let Selector::Word(word) = version
            && !suggest::closest(word, ["latest"]).is_empty()
        {
            return Some(problem(Some("did you mean `latest`?")));
        }
        Some(match there {
            None => problem(Some("the function has no version yet: apply without `version` first, then set it")),
            Some(_) => problem(None).next(Next::ListVersions { function, app }),
        })
    }
}
