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
mod land;
mod options;
mod overwrite;
mod planned;
mod refused;
mod scan;
mod single;

use std::collections::BTreeMap;

use milepost_client::Client;
use milepost_client::api::AppUrls;
use milepost_model::base::HandEdit;
use milepost_model::build::BuildRequest;
use milepost_model::change::{Change, Declaration, GitFacts};
use milepost_model::check::CheckState;
use milepost_model::{AppName, ChangeOutcome, Code, PlanName, UnitName};

use super::error::{Error, Result};
use super::reporter::Event;
use super::scanner::Scanner;
use super::session::Session;
use super::{Declared, Problem, bounds, lookup};
use environments::Environments;
use scan::Trees;

pub use git::facts as git_facts;
pub use options::{ChangeOptions, HandEdits, Options};
pub use overwrite::Overwritten;
pub use single::land as land_change;

/// The result of an apply, or of its dry run.
pub struct Applied {
    pub outcome: ChangeOutcome,
    pub urls: AppUrls,
    /// The build commands of the packages that have to be built.
    pub commands: BTreeMap<UnitName, String>,
    /// Secrets without a value that only the folder lists. The server reports those of functions.
    pub unset_secrets: Vec<Problem>,
}

/// Problems that keep the declared files from being read.
pub async fn unreadable_files(scanner: &Scanner, declared: &Declared) -> Vec<Problem> {
    scan::all(scanner, declared).await.err().unwrap_or_default()
}

pub async fn apply(session: &Session<'_>, declared: &Declared, options: &Options) -> Result<Applied> {
    let mut apply = Apply::begin(session, declared, options).await?;
    let done = apply.run().await;
    if done.is_err() && apply.made_app && unmake_app(session.client.clone(), session.app.to_owned()).await {
        session.reporter.report(Event::AppDeleted);
    }
    session.in_flight.nothing_to_undo();
    done
}

/// Adds what the app lacks, so that unreadable files do not hide other mistakes.
async fn with_what_the_app_lacks(session: &Session<'_>, declared: &Declared, mut wrong: Vec<Problem>) -> Error {
    // Best effort: a server that cannot be reached is reported when something is sent.
    let found = lookup::look_up(session, declared).await.unwrap_or_default();
    wrong.extend(found.errors);
    wrong.sort_by(|one, other| one.place.cmp(&other.place));
    Error::mistakes(wrong, found.secrets)
}

/// Deletes the app that was created for a failed deploy, unless other changes have given it a
/// version by now. Returns whether it was deleted.
async fn unmake_app(client: Client, app: String) -> bool {
    // Best effort: an app without a version does no harm.
    client.app_delete_unused(&app).await.is_ok()
}

struct Apply<'a> {
    session: &'a Session<'a>,
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
    /// The changes made by hand that were already reported.
    hand_edits: Vec<HandEdit>,
    /// The overwritten work that was already reported.
    overwritten: Vec<Overwritten>,
}

impl<'a> Apply<'a> {
    /// Reads the files of the folder, and fetches environments that are only known to the app.
    async fn begin(session: &'a Session<'a>, declared: &'a Declared, options: &'a Options) -> Result<Self> {
        if !options.allow_outside {
            let wrong = bounds::outside(declared, session.private);
            if !wrong.is_empty() {
                return Err(Error::mistakes(wrong, Vec::new()));
            }
        }
        let sources = declared.sources();
        let (trees, git) = tokio::join!(scan::all(session.scanner, declared), git::facts(&declared.folder, &sources));
        let trees = match trees {
            Ok(trees) => trees,
            Err(wrong) => return Err(with_what_the_app_lacks(session, declared, wrong).await),
        };
        let mut apply = Self {
            session,
            declared,
            options,
            trees,
            git,
            environments: Environments::of(declared),
            made_app: false,
            head: None,
            live: None,
            moves: 0,
            hand_edits: Vec::new(),
            overwritten: Vec::new(),
        };
        if draft::unknown_environment(declared, &apply.environments) {
            apply.environments.ask(session).await?;
        }
        Ok(apply)
    }
}

impl Apply<'_> {
    async fn run(&mut self) -> Result<Applied> {
        self.live = self.live_base().await;
        let (mut change, mut plan) = match self.plan().await {
            Err(error) if error.code() == Some(Code::AppNotFound) => match self.make_app().await? {
                Some(all_new) => return Ok(all_new),
                None => self.plan().await?,
            },
            Err(error) if error.code().is_some_and(may_not_be_all) => return Err(self.with_places(error).await),
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
            files::explain(self.session, &mut plan, local).await;
            if !plan.builds.is_empty() {
                self.environments.ask(self.session).await?;
            }
            let commands = planned::commands(&mut plan, &change, &self.trees, &self.environments);
            self.session.reporter.report(Event::Ignored(&self.trees.ignored()));
            let unset_secrets = self.unset_secrets().await;
            return Ok(Applied { commands, unset_secrets, ..applied(plan) });
        }
        let outcome = self.land(change, plan).await?;
        let unset_secrets = if self.options.watching { Vec::new() } else { self.unset_secrets().await };
        // The apply succeeded, so a failure to get the URLs is ignored.
        let status = self.session.client.status(self.session.app).await.ok();
        let urls = status.map(|status| status.urls).unwrap_or_default();
        Ok(Applied { urls, unset_secrets, ..applied(outcome) })
    }

    /// The change to send, and what it would do.
    async fn plan(&mut self) -> Result<(Change, ChangeOutcome)> {
        let mut change = self.change();
        let mut plan = self.session.change(&change).await?;
        // The app may override a built-in environment. This is only worth a request if something
        // differs.
        if plan.changed && draft::guesses(self.declared, &self.environments) {
            self.environments.ask(self.session).await?;
            let puts = draft::puts(self.declared, &self.trees, &self.environments);
            if puts != change.puts {
                change.puts = puts;
                plan = self.session.change(&change).await?;
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
        self.session.change(&change).await
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
        let session = self.session;
        let lookup::LookedUp { errors, secrets, .. } = lookup::in_new_app(session.app, self.declared);
        if !errors.is_empty() {
            return Err(Error::mistakes(errors, secrets));
        }
        if self.options.change.dry_run {
            session.reporter.report(Event::WouldCreateApp);
            let change = self.change();
            session.reporter.report(Event::Ignored(&self.trees.ignored()));
            let mut plan = planned::all_new(self.declared, &change);
            let commands = planned::commands(&mut plan, &change, &self.trees, &self.environments);
            return Ok(Some(Applied { commands, unset_secrets: secrets, ..applied(plan) }));
        }
        let name: AppName = session.app.parse()?;
        // Registered before the request, so that an interrupt in between does not leave the app.
        let undo = unmake_app(session.client.clone(), session.app.to_owned());
        session.in_flight.undo_with(async move {
            undo.await;
        });
        let app = session.client.app_create(&name, PlanName::default()).await;
        let app = app.inspect_err(|_| session.in_flight.nothing_to_undo())?;
        self.made_app = true;
        session.reporter.report(Event::AppCreated(&app));
        Ok(None)
    }

    /// The server reports one missing unit. The folder has the locations of all of them.
    async fn with_places(&self, error: Error) -> Error {
        match lookup::look_up(self.session, self.declared).await {
            Ok(found) if !found.errors.is_empty() => {
                let conflicts = found.conflicts.into_iter().filter(|_| !self.options.allow_conflicts);
                let mut errors: Vec<Problem> = found.errors.into_iter().chain(conflicts).collect();
                errors.sort_by(|one, other| one.place.cmp(&other.place));
                Error::mistakes(errors, found.secrets)
            }
            _ => error,
        }
    }

    /// Secrets without a value that only the folder itself lists; reported as warnings.
    async fn unset_secrets(&self) -> Vec<Problem> {
        lookup::unset_secrets(self.session, self.declared).await.unwrap_or_default()
    }

    /// Messages and questions before anything is sent.
    async fn before_sending(&mut self, plan: &ChangeOutcome) -> Result<()> {
        if self.git.is_none() && !self.options.watching {
            self.session.reporter.report(Event::NoCommit);
        }
        self.ask_to_overwrite(plan).await
    }

    async fn builds(&mut self, plan: &ChangeOutcome, change: &Change) -> Result<Vec<BuildRequest>> {
        let mut requests = Vec::new();
        for name in &plan.builds {
            let Some((package, Some(source))) = draft::package(&change.puts, name) else { continue };
            let Some(named) = &package.environment else { continue };
            let environment = self.environments.exact(self.session, named).await?;
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
    Applied { outcome, urls: AppUrls::default(), commands: BTreeMap::new(), unset_secrets: Vec::new() }
}
