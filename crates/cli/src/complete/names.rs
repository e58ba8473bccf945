//! What a value names, and the names that the server knows.

use clap::{Arg, Parser};
use milepost_model::UnitKind;
use milepost_model::job::Job;

use crate::args::Cli;
use crate::args::walk::Walk;
use crate::commands::shared;
use crate::context::{Context, unit_key};
use crate::failure::Result;
use crate::output::Ui;

/// How many of the newest entries of a long list are offered.
const NEWEST: i64 = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    App,
    Unit(UnitKind),
    /// Functions and packages have environments that are built in, beside those of the app.
    Environment,
    /// A version of the unit that the command names.
    Version(UnitKind),
    /// A version of the function of `--function`.
    TargetVersion,
    Alias,
    Release,
    Tag,
    AppVersion,
    Group,
    Token,
    Plan,
    Role,
    Build,
    Execution,
    Job,
    Webhook,
}

/// What a value of a command names, if the server knows the names.
pub fn wanted(path: &[&str], arg: &Arg) -> Option<Wanted> {
    let name = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let noun = path.first().copied().unwrap_or_default();
    let verb = path.last().copied().unwrap_or_default();
    let kind = kind(noun);
    Some(match name {
        "APP" => Wanted::App,
        "FUNCTION" => Wanted::Unit(UnitKind::Function),
        "PACKAGE" => Wanted::Unit(UnitKind::Package),
        "ENVIRONMENT" => Wanted::Environment,
        "RELEASE" => Wanted::Release,
        "TAG" if verb == "untag" => Wanted::Tag,
        "POINTER" => Wanted::Tag,
        "ALIAS" if verb != "create" => Wanted::Alias,
        "GROUP" => Wanted::Group,
        "PLAN" => Wanted::Plan,
        "ROLE" => Wanted::Role,
        "JOB" => Wanted::Job,
        "A" | "B" => Wanted::AppVersion,
        "ID" if noun == "build" => Wanted::Build,
        "ID" if noun == "execution" => Wanted::Execution,
        "ID" if noun == "webhook" => Wanted::Webhook,
        "VERSION" if noun == "app" || noun == "release" => Wanted::AppVersion,
        "VERSION" if noun == "config" => Wanted::Version(UnitKind::Config),
        // `--version` labels what is created.
        "VERSION" if path.len() > 1 && (kind.is_none() || is_trigger(noun) && !path.contains(&"version")) => {
            Wanted::TargetVersion
        }
        "VERSION" if noun == "logs" => Wanted::TargetVersion,
        "VERSION" if !matches!(verb, "create" | "update") || path.contains(&"alias") => Wanted::Version(kind?),
        "NAME" if matches!(arg.get_long(), Some("secret" | "unset-secret")) => Wanted::Unit(UnitKind::Secret),
        "NAME" if arg.get_long().is_some_and(|long| long != "name") => return None,
        "NAME" if verb == "create" && !path.contains(&"version") && !path.contains(&"alias") => return None,
        "NAME" if noun == "app" => Wanted::App,
        "NAME" if noun == "group" => Wanted::Group,
        "NAME" if noun == "token" => Wanted::Token,
        "NAME" => Wanted::Unit(kind?),
        _ => return None,
    })
}

fn kind(noun: &str) -> Option<UnitKind> {
    Some(match noun {
        "function" => UnitKind::Function,
        "package" => UnitKind::Package,
        "environment" => UnitKind::Environment,
        "secret" => UnitKind::Secret,
        "static" => UnitKind::Static,
        "route" | "httptrigger" => UnitKind::Route,
        "timer" => UnitKind::Timer,
        _ => return None,
    })
}

fn is_trigger(noun: &str) -> bool {
    matches!(noun, "route" | "httptrigger" | "timer")
}

/// The names that fit, each with a few words about it.
pub async fn find(wanted: Wanted, words: &Walk<'_>) -> Result<Vec<(String, String)>> {
    let mut line = vec!["milepost", "whoami"];
    for (long, option) in [("server", "--server"), ("token", "--token"), ("app", "--app"), ("data", "--data")] {
        if let Some(value) = words.option(long) {
            line.extend([option, value]);
        }
    }
    let Ok(cli) = Cli::try_parse_from(line) else { return Ok(Vec::new()) };
    let ui = Ui::new(&cli.global);
    let context = Context::new(&ui, &cli.global)?;
    let (client, app) = (&context.client, context.app.as_str());
    let bare = |names: Vec<String>| names.into_iter().map(|name| (name, String::new())).collect();
    Ok(match wanted {
        Wanted::App => {
            bare(client.app_list(NEWEST, None).await?.items.iter().map(|app| app.name.to_string()).collect())
        }
        Wanted::Unit(kind) => bare(units(&context, kind).await?),
        Wanted::Environment => {
            let mut names = units(&context, UnitKind::Environment).await?;
            names.extend(milepost_model::spec::BUILT_IN_ENVIRONMENTS.iter().map(|(name, _)| (*name).to_owned()));
            names.sort();
            names.dedup();
            bare(names)
        }
        Wanted::Version(kind) => {
            let name = words.option("name").or(words.plain.first().copied());
            let name = if kind == UnitKind::Config { Some("config") } else { name };
            versions(&context, kind, name.unwrap_or_default()).await?
        }
        Wanted::TargetVersion => {
            let name = words.option("function").or(words.plain.first().copied());
            versions(&context, UnitKind::Function, name.unwrap_or_default()).await?
        }
        Wanted::Alias => {
            let name = words.option("name").or(words.option("function")).or(words.plain.first().copied());
            let aliases = client.alias_list(app, name.unwrap_or_default()).await?;
            aliases.iter().map(|alias| (alias.name.to_string(), format!("version {}", alias.number))).collect()
        }
        Wanted::Release => releases(&context).await?,
        Wanted::Tag => releases(&context).await?.into_iter().filter(|(_, about)| !about.is_empty()).collect(),
        Wanted::AppVersion => {
            let mut names = releases(&context).await?;
            names.push(("head".to_owned(), "the newest app version".to_owned()));
            let versions = client.app_version_list(app, NEWEST, None).await?.items;
            names.extend(versions.iter().map(|version| (version.id.clone(), version.message.clone())));
            names
        }
        Wanted::Group => bare(client.group_list(app).await?.iter().map(|group| group.name.to_string()).collect()),
        Wanted::Token => bare(client.token_list().await?.iter().map(|token| token.name.to_string()).collect()),
        Wanted::Plan => bare(["free", "standard", "unlimited"].map(str::to_owned).to_vec()),
        Wanted::Role => bare(["reader", "invoker", "operator", "deployer", "admin"].map(str::to_owned).to_vec()),
        Wanted::Build => {
            bare(client.build_list(app, NEWEST, None).await?.items.iter().map(|build| build.id.to_string()).collect())
        }
        Wanted::Execution => {
            let filter = milepost_model::execution::ExecutionFilter::default();
            let page = client.execution_list(app, &filter, NEWEST, None).await?;
            page.items.iter().map(|run| (run.id.to_string(), run.function.to_string())).collect()
        }
        Wanted::Job => {
            let jobs = client.job_list(app, NEWEST, None).await?.items;
            let name = |job: &Job| if job.name.is_empty() { job.id.clone() } else { job.name.clone() };
            jobs.iter().map(|job| (name(job), job.function.to_string())).collect()
        }
        Wanted::Webhook => {
            let webhooks = client.webhook_list(app, NEWEST, None).await?.items;
            webhooks.iter().map(|webhook| (webhook.id.clone(), webhook.function.to_string())).collect()
        }
    })
}

async fn units(context: &Context<'_>, kind: UnitKind) -> Result<Vec<String>> {
    Ok(shared::units(context, kind).await?.iter().map(|unit| unit.name.to_string()).collect())
}

/// The versions of a unit: their labels, or numbers if they have none.
async fn versions(context: &Context<'_>, kind: UnitKind, name: &str) -> Result<Vec<(String, String)>> {
    let page = context.client.version_list(&context.app, &unit_key(kind, name)?, NEWEST, None).await?;
    let mut names = vec![("latest".to_owned(), "the newest version".to_owned())];
    for version in page.items {
        let number = version.number.to_string();
        names.push(match version.label {
            Some(label) => (label.to_string(), format!("version {number}")),
            None => (number, version.description),
        });
        names.extend(version.aliases.iter().map(|alias| (format!("@{alias}"), format!("version {}", version.number))));
    }
    Ok(names)
}

/// The pointers, then the releases that can be reached.
async fn releases(context: &Context<'_>) -> Result<Vec<(String, String)>> {
    let page = context.client.release_list(&context.app, true, NEWEST, None).await?;
    let mut names = Vec::new();
    for release in &page.items {
        let about = || format!("release {}", release.id);
        names.extend(release.live.then(|| ("live".to_owned(), about())));
        names.extend(release.latest.then(|| ("latest".to_owned(), about())));
        names.extend(release.tags.iter().map(|tag| (tag.to_string(), about())));
    }
    names.extend(page.items.iter().map(|release| (release.id.clone(), String::new())));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    fn wanted_by(line: &str, value: &str) -> Option<Wanted> {
        let path: Vec<&str> = line.split(' ').collect();
        let root = Cli::definition();
        let command = path.iter().fold(&root, |command, word| command.find_subcommand(word).expect(line));
        let named = |arg: &&Arg| {
            let names = arg.get_value_names().unwrap_or_default();
            arg.get_long().is_some_and(|long| format!("--{long}") == value)
                || arg.is_positional() && names.iter().any(|name| name.as_str() == value)
        };
        wanted(&path, command.get_arguments().find(named).expect(value))
    }

    #[test]
    fn knows_the_kinds_of_value_names() {
        use UnitKind::{Environment, Function, Package, Route, Secret};
        for (line, value, expected) in [
            ("function get", "NAME", Some(Wanted::Unit(Function))),
            ("function get", "--name", Some(Wanted::Unit(Function))),
            ("function create", "NAME", None),
            ("function create", "--secret", Some(Wanted::Unit(Secret))),
            ("function create", "--version", None),
            ("function create", "--pkg", Some(Wanted::Unit(Package))),
            ("function version create", "NAME", Some(Wanted::Unit(Function))),
            ("function version delete", "VERSION", Some(Wanted::Version(Function))),
            ("function alias create", "ALIAS", None),
            ("function alias create", "VERSION", Some(Wanted::Version(Function))),
            ("function alias update", "ALIAS", Some(Wanted::Alias)),
            ("environment version get", "VERSION", Some(Wanted::Version(Environment))),
            ("route create", "--version", Some(Wanted::TargetVersion)),
            ("route version get", "VERSION", Some(Wanted::Version(Route))),
            ("webhook create", "--version", Some(Wanted::TargetVersion)),
            ("release expire", "RELEASE", Some(Wanted::Release)),
            ("release untag", "TAG", Some(Wanted::Tag)),
            ("release tag", "TAG", None),
            ("rollback", "RELEASE", Some(Wanted::Release)),
            ("diff", "A", Some(Wanted::AppVersion)),
            ("app delete", "NAME", Some(Wanted::App)),
            ("app create", "NAME", None),
            ("app show", "VERSION", Some(Wanted::AppVersion)),
            ("upgrade", "APP", Some(Wanted::App)),
            ("upgrade", "--to", None),
            ("token delete", "NAME", Some(Wanted::Token)),
            ("group get", "NAME", Some(Wanted::Group)),
            ("config version get", "VERSION", Some(Wanted::Version(UnitKind::Config))),
            ("execution get", "ID", Some(Wanted::Execution)),
            ("logs", "--version", Some(Wanted::TargetVersion)),
        ] {
            assert_eq!(wanted_by(line, value), expected, "{line} {value}");
        }
    }

    /// A command that takes a name and is forgotten here would complete nothing.
    #[test]
    fn every_function_and_release_is_completed() {
        fn check(command: &Command, path: &mut Vec<String>) {
            let here: Vec<&str> = path.iter().map(String::as_str).collect();
            for arg in command.get_arguments() {
                let names = arg.get_value_names().unwrap_or_default();
                if names.iter().any(|name| matches!(name.as_str(), "FUNCTION" | "RELEASE" | "APP")) {
                    assert!(wanted(&here, arg).is_some(), "{here:?} {arg:?}");
                }
            }
            for sub in command.get_subcommands() {
                path.push(sub.get_name().to_owned());
                check(sub, path);
                path.pop();
            }
        }
        check(&Cli::definition(), &mut Vec::new());
    }
}
