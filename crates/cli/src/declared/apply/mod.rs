//! From what a folder declares to one change: scan, plan, send what is missing, build, change.
//!
//! The plan is the change itself as a dry run, with the digests of the local trees: an unchanged folder costs this one
//! request and sends nothing. `docs/decisions/007-declarative.md` has the reasons.

mod build;
pub mod differs;
mod draft;
mod environments;
mod files;
mod git;
mod hand_edits;
mod interrupt;
mod land;
mod overwrite;
mod refused;
mod scan;
mod single;
pub mod tell;

use std::collections::BTreeMap;

use milepost_client::api::AppUrls;
use milepost_model::build::BuildRequest;
use milepost_model::change::{Change, Declaration, GitFacts};
use milepost_model::check::CheckState;
use milepost_model::{AppName, ChangeOutcome, Code, PlanName, UnitName};

use super::{Declared, Problem, bounds, lookup};
use crate::commands::shared::ChangeArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};
use environments::Environments;
use scan::Trees;

pub use git::facts as git_facts;
pub use interrupt::stoppable;
pub use single::send;

/// How a folder is applied.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub change: ChangeArgs,
    pub prune_secrets: bool,
    pub allow_conflicts: bool,
    /// Files outside of the folder are taken as well.
    pub allow_outside: bool,
    /// Every line of a build instead of the last one.
    pub verbose: bool,
    /// Again and again, while somebody edits: no questions, and nothing is told twice.
    pub watching: bool,
    pub hand_edits: HandEdits,
}

/// What to do about changes made by hand that a folder would put back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HandEdits {
    /// Asks, and refuses without a terminal.
    #[default]
    Ask,
    /// Warns and goes on.
    Overwrite,
}

/// What an apply did, or with a dry run, would do.
pub struct Applied {
    pub outcome: ChangeOutcome,
    pub urls: AppUrls,
    /// What would build the packages that have to be built.
    pub commands: BTreeMap<UnitName, String>,
}

/// What keeps the files that are declared from being read.
pub async fn unreadable_files(declared: &Declared) -> Vec<Problem> {
    scan::all(declared).await.err().unwrap_or_default()
}

pub async fn apply(context: &Context<'_>, declared: &Declared, options: &Options) -> Result<Applied> {
    let mut apply = Apply::begin(context, declared, options).await?;
    let done = apply.run().await;
    if done.is_err() && apply.made_app && unmake_app(context.client.clone(), context.app.clone()).await {
        context.ui.say(&format!("App {} was taken away again.", context.app));
    }
    interrupt::nothing_to_undo();
    done
}

/// Files that cannot be read do not hide what else is wrong.
async fn with_what_the_app_lacks(context: &Context<'_>, declared: &Declared, mut wrong: Vec<Problem>) -> Failure {
    // Best effort: that nobody answers is told when there is something to send.
    let found = lookup::look_up(context, declared).await.unwrap_or_default();
    wrong.extend(found.errors);
    wrong.sort_by(|one, other| one.place.cmp(&other.place));
    super::failure(wrong, found.secrets)
}

/// Takes away the app that was made for a deploy that did not come to anything, unless it has a version by now: others may have
/// landed in it. Answers whether it is gone.
async fn unmake_app(client: milepost_client::Client, app: String) -> bool {
    // Best effort: an app without a version does no harm.
    client.app_delete_unused(&app).await.is_ok()
}

struct Apply<'a> {
    context: &'a Context<'a>,
    declared: &'a Declared,
    options: &'a Options,
    trees: Trees,
    git: Option<GitFacts>,
    environments: Environments,
    /// Whether the app is there only because of this apply.
    made_app: bool,
    /// The app version that it is planned on, once something is to be sent.
    head: Option<String>,
    /// The release that live was at when a change on live was planned.
    live: Option<String>,
    /// How often somebody else was faster.
    moves: usize,
    /// Whose work it overwrites, as far as that was told.
    told: Vec<String>,
}

impl<'a> Apply<'a> {
    /// Reads the files of the folder, and asks about environments that only the app knows.
    async fn begin(context: &'a Context<'a>, declared: &'a Declared, options: &'a Options) -> Result<Self> {
        if !options.allow_outside {
            let wrong = bounds::outside(declared);
            if !wrong.is_empty() {
                return Err(super::failure(wrong, Vec::new()));
            }
        }
        let sources = declared.sources();
        let (trees, git) = tokio::join!(scan::all(declared), git::facts(&declared.folder, &sources));
        let trees = match trees {
            Ok(trees) => trees,
            Err(wrong) => return Err(with_what_the_app_lacks(context, declared, wrong).await),
        };
        let mut apply = Self {
            context,
            declared,
            options,
            trees,
            git,
            environments: Environments::of(declared),
            made_app: false,
            head: None,
            live: None,
            moves: 0,
            told: Vec::new(),
        };
        if draft::unknown_environment(declared, &apply.environments) {
            apply.environments.ask(context).await?;
        }
        Ok(apply)
    }
}

impl Apply<'_> {
    async fn run(&mut self) -> Result<Applied> {
        self.live = self.live_base().await;
        let (mut change, mut plan) = match self.plan().await {
            Err(failure) if failure.code() == Some(Code::AppNotFound) => match self.make_app().await? {
                Some(all_new) => return Ok(all_new),
                None => self.plan().await?,
            },
            Err(failure) if failure.code().is_some_and(may_not_be_all) => {
                return Err(self.with_places(failure).await);
            }
            planned => planned?,
        };
        // An unchanged folder costs one request: on what exactly it is planned is asked only when something is to be sent.
        if !self.is_up_to_date(&plan) && !self.options.change.dry_run && self.options.change.expect.is_none() {
            (change, plan) = self.plan_on_head().await?;
        }
        if self.is_up_to_date(&plan) {
            return self.up_to_date(change, plan).await.map(applied);
        }
        self.before_sending(&plan).await?;
        if self.options.change.dry_run {
            let local = |root| self.trees.with_root(root).and_then(|scanned| scanned.source.tree().ok());
            files::explain(self.context, &mut plan, local).await;
            if !plan.builds.is_empty() {
                self.environments.ask(self.context).await?;
            }
            let commands = tell::commands(&mut plan, &change, &self.trees, &self.environments);
            tell::ignored(self.context.ui, &self.trees);
            plan.warnings.extend(self.unset_secrets().await);
            return Ok(Applied { commands, ..applied(plan) });
        }
        let mut outcome = self.land(change, plan).await?;
        if !self.options.watching {
            outcome.warnings.extend(self.unset_secrets().await);
        }
        // The apply is done: that an address cannot be told is not its failure.
        let status = self.context.client.status(&self.context.app).await.ok();
        let urls = status.map(|status| status.urls).unwrap_or_default();
        Ok(Applied { urls, ..applied(outcome) })
    }

    /// The change as it would be sent, and what it would do.
    async fn plan(&mut self) -> Result<(Change, ChangeOutcome)> {
        let mut change = self.change();
        let mut plan = self.context.change(&change).await?;
        // Only when something differs is it worth asking whether the app has another environment under a built-in name.
        if plan.changed && draft::guesses(self.declared, &self.environments) {
            self.environments.ask(self.context).await?;
            let puts = draft::puts(self.declared, &self.trees, &self.environments);
            if puts != change.puts {
                change.puts = puts;
                plan = self.context.change(&change).await?;
            }
        }
        Ok((change, plan))
    }

    /// That a deployment takes over what is equal already is to be written down, though nothing else is.
    fn is_up_to_date(&self, plan: &ChangeOutcome) -> bool {
        !plan.changed && (plan.taken_over.is_empty() || self.options.change.dry_run)
    }

    /// The outcome of an apply that changes nothing. A release of this content that is being checked is waited for.
    async fn up_to_date(&self, mut change: Change, mut plan: ChangeOutcome) -> Result<ChangeOutcome> {
        plan.dry_run = self.options.change.dry_run;
        if plan.dry_run || plan.check.state != CheckState::Pending {
            return Ok(plan);
        }
        change.dry_run = false;
        // Nothing is to be made of what others put meanwhile.
        change.expect.clone_from(&plan.app_version);
        self.context.change(&change).await
    }

    fn change(&self) -> Change {
        let puts = draft::puts(self.declared, &self.trees, &self.environments);
        let deployment = Declaration {
            id: self.declared.deployment.id.clone(),
            name: self.declared.deployment.name.clone(),
            claims: self.declared.claims.iter().map(|claim| claim.key.clone()).collect(),
            prune_secrets: self.options.prune_secrets,
            allow_conflicts: self.options.allow_conflicts,
        };
        let mut change = self.options.change.change(puts, Vec::new());
        change.expect = change.expect.or_else(|| self.head.clone());
        change.expect_live.clone_from(&self.live);
        change.git.clone_from(&self.git);
        change.deployment = Some(deployment);
        change.dry_run = true;
        change
    }

    /// For an app that does not exist. A dry run does not make it, and answers what would be in it.
    async fn make_app(&mut self) -> Result<Option<Applied>> {
        let context = self.context;
        let lookup::LookedUp { errors, secrets, .. } = lookup::in_new_app(context, self.declared);
        if !errors.is_empty() {
            return Err(super::failure(errors, secrets));
        }
        if self.options.change.dry_run {
            context.ui.say(&format!("App {} does not exist; it would be created.", context.app));
            let change = self.change();
            tell::ignored(context.ui, &self.trees);
            let mut plan = tell::all_new(self.declared, &change);
            plan.warnings = secrets.iter().map(tell::in_a_line).collect();
            let commands = tell::commands(&mut plan, &change, &self.trees, &self.environments);
            return Ok(Some(Applied { commands, ..applied(plan) }));
        }
        let name: AppName = context.app.parse()?;
        // Before it is made: a stop between the two would leave it.
        let undo = unmake_app(context.client.clone(), context.app.clone());
        interrupt::undo_with(async move {
            undo.await;
        });
        let app = context.client.app_create(&name, PlanName::default()).await.inspect_err(|_| {
            interrupt::nothing_to_undo();
        })?;
        self.made_app = true;
        context.ui.say(&format!("App {} created, plan {}.", app.name, app.plan));
        Ok(None)
    }

    /// The server names one thing that is not there; the folder knows the places of all of them.
    async fn with_places(&self, failure: Failure) -> Failure {
        match lookup::look_up(self.context, self.declared).await {
            Ok(found) if !found.errors.is_empty() => {
                let conflicts = found.conflicts.into_iter().filter(|_| !self.options.allow_conflicts);
                let mut errors: Vec<Problem> = found.errors.into_iter().chain(conflicts).collect();
                errors.sort_by(|one, other| one.place.cmp(&other.place));
                super::failure(errors, found.secrets)
            }
            _ => failure,
        }
    }

    /// The secrets that the folder names by itself and that have no value yet. Not worth a failure: it is a warning.
    async fn unset_secrets(&self) -> Vec<String> {
        let found = lookup::unset_secrets(self.context, self.declared).await.unwrap_or_default();
        found.iter().map(tell::in_a_line).collect()
    }

    /// What should be known before anything is sent.
    async fn before_sending(&mut self, plan: &ChangeOutcome) -> Result<()> {
        if self.git.is_none() && !self.options.watching {
            self.context
                .ui
                .say("Not in a git repository, or nothing is committed: the app version will carry no commit.");
        }
        self.ask_to_overwrite(plan).await
    }

    async fn builds(&mut self, plan: &ChangeOutcome, change: &Change) -> Result<Vec<BuildRequest>> {
        let mut requests = Vec::new();
        for name in &plan.builds {
            let Some((package, Some(source))) = draft::package(&change.puts, name) else { continue };
            let Some(named) = &package.environment else { continue };
            let environment = self.environments.exact(self.context, named).await?;
            let command = package.build_command.clone().unwrap_or_default();
            requests.push(BuildRequest { package: name.clone(), source, environment, command });
        }
        Ok(requests)
    }
}

/// A refusal that tells one thing where there may be more.
fn may_not_be_all(code: Code) -> bool {
    matches!(code, Code::UnitNotFound | Code::AliasNotFound | Code::VersionNotFound | Code::OwnedElsewhere)
}

fn applied(outcome: ChangeOutcome) -> Applied {
    Applied { outcome, urls: AppUrls::default(), commands: BTreeMap::new() }
}
