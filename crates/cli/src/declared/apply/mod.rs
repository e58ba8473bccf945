//! Applies the declared units of a folder as one change: scan, plan, upload what is missing, build,
//! change.
//!
//! The plan is a dry run of the change with the digests of the local trees, so an unchanged folder
//! costs one request and uploads nothing. See `docs/decisions/007-declarative.md` for the reasons.

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
    /// Allow files outside of the folder.
    pub allow_outside: bool,
    /// Show every line of a build instead of only the last one.
    pub verbose: bool,
    /// Repeated applies while the user edits: no prompts, and no repeated messages.
    pub watching: bool,
    pub hand_edits: HandEdits,
}

/// What to do about changes made by hand that a folder would undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HandEdits {
    /// Asks for confirmation, and fails without a terminal.
    #[default]
    Ask,
    /// Warns and continues.
    Overwrite,
}

/// The result of an apply, or of its dry run.
pub struct Applied {
    pub outcome: ChangeOutcome,
    pub urls: AppUrls,
    /// The build commands of the packages that have to be built.
    pub commands: BTreeMap<UnitName, String>,
}

/// Problems that keep the declared files from being read.
pub async fn unreadable_files(declared: &Declared) -> Vec<Problem> {
    scan::all(declared).await.err().unwrap_or_default()
}

pub async fn apply(context: &Context<'_>, declared: &Declared, options: &Options) -> Result<Applied> {
    let mut apply = Apply::begin(context, declared, options).await?;
    let done = apply.run().await;
    if done.is_err() && apply.made_app && unmake_app(context.client.clone(), context.app.clone()).await {
        context.ui.say(&format!("App {} was deleted again.", context.app));
    }
    interrupt::nothing_to_undo();
    done
}

/// Adds what the app lacks, so that unreadable files do not hide other mistakes.
async fn with_what_the_app_lacks(context: &Context<'_>, declared: &Declared, mut wrong: Vec<Problem>) -> Failure {
    // Best effort: a server that cannot be reached is reported when something is sent.
    let found = lookup::look_up(context, declared).await.unwrap_or_default();
    wrong.extend(found.errors);
    wrong.sort_by(|one, other| one.place.cmp(&other.place));
    super::failure(wrong, found.secrets)
}

/// Deletes the app that was created for a failed deploy, unless other changes have given it a
/// version by now. Returns whether it was deleted.
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
    /// Whether this apply created the app.
    made_app: bool,
    /// The app version that the change is planned on, once there is something to send.
    head: Option<String>,
    /// The live release when a change on live was planned.
    live: Option<String>,
    /// How often the head moved.
    moves: usize,
    /// Warnings that were already printed.
    told: Vec<String>,
}

impl<'a> Apply<'a> {
    /// Reads the files of the folder, and fetches environments that are only known to the app.
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
        // An unchanged folder costs one request. The head is only fetched if there is something to
        // send.
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
        // The apply succeeded, so a failure to get the URLs is ignored.
        let status = self.context.client.status(&self.context.app).await.ok();
        let urls = status.map(|status| status.urls).unwrap_or_default();
        Ok(Applied { urls, ..applied(outcome) })
    }

    /// The change to send, and what it would do.
    async fn plan(&mut self) -> Result<(Change, ChangeOutcome)> {
        let mut change = self.change();
        let mut plan = self.context.change(&change).await?;
        // The app may override a built-in environment. This is only worth a request if something
        // differs.
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

    /// Taking over equal units changes nothing but must be recorded, so it is not up to date.
    fn is_up_to_date(&self, plan: &ChangeOutcome) -> bool {
        !plan.changed && (plan.taken_over.is_empty() || self.options.change.dry_run)
    }

    /// The result of an apply without changes. Waits for a pending check of a release with this
    /// content.
    async fn up_to_date(&self, mut change: Change, mut plan: ChangeOutcome) -> Result<ChangeOutcome> {
        plan.dry_run = self.options.change.dry_run;
        if plan.dry_run || plan.check.state != CheckState::Pending {
            return Ok(plan);
        }
        change.dry_run = false;
        // If the app changed since the plan, fail instead of releasing the other change.
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

    /// Creates a missing app. A dry run does not, and returns what the app would contain.
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
        // Registered before the request, so that an interrupt in between does not leave the app.
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

    /// The server reports one missing unit. The folder has the locations of all of them.
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

    /// Secrets without a value that only the folder itself lists; reported as warnings.
    async fn unset_secrets(&self) -> Vec<String> {
        let found = lookup::unset_secrets(self.context, self.declared).await.unwrap_or_default();
        found.iter().map(tell::in_a_line).collect()
    }

    /// Messages and prompts before anything is sent.
    async fn before_sending(&mut self, plan: &ChangeOutcome) -> Result<()> {
        if self.git.is_none() && !self.options.watching {
            self.context.ui.say("No git commit found; this deploy will not be linked to one.");
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

/// Whether the server reports only the first of several possible mistakes.
fn may_not_be_all(code: Code) -> bool {
    matches!(code, Code::UnitNotFound | Code::AliasNotFound | Code::VersionNotFound | Code::OwnedElsewhere)
}

fn applied(outcome: ChangeOutcome) -> Applied {
    Applied { outcome, urls: AppUrls::default(), commands: BTreeMap::new() }
}
