use clap::Args;
use milepost_channels::{Unpublish, WriteError};
use milepost_model::channel::{self, Publication, PublicationKind, SemVer};
use serde_json::json;

use crate::commands::channel::place::{PlaceArgs, SignArgs, channel_of};
use crate::commands::channel::tell_app::tell_app;
use crate::context::{Context, Unattended};
use crate::failure::{Failure, Result};

/// Remove a published version from its channel
///
/// The version can no longer be installed. Installs that have it move at once to a replacement
/// patch, if their policy allows. The version number cannot be used again for other content:
/// publish a higher version, ideally before this one is removed. Removing the latest version asks
/// for confirmation. The channel then has no latest version until you publish one above all
/// remaining versions. With `--promote-previous`, now or in a second run, the highest remaining
/// version becomes the latest.
#[derive(Debug, Args)]
pub struct UnpublishArgs {
    /// The published version, like `1.2.3` or `1.3.0-beta.1`
    #[arg(value_name = "VERSION")]
    version: String,
    /// If it is the latest, make the highest remaining version the latest
    #[arg(long)]
    promote_previous: bool,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    sign: SignArgs,
}

pub async fn run(context: &Context<'_>, args: UnpublishArgs) -> Result<()> {
    let version: SemVer = args.version.parse().map_err(|error| Failure::usage(format!("{error}")))?;
    let channel = channel_of(&version)?;
    let (package, store) = args.place.open(context, Some(&args.sign))?;
    let before = store.read(&package, &channel).await?;
    if let Some(before) = &before
        && let Ok(preview) = channel::unpublish(before, &version, args.promote_previous, &[])
        && preview.was_latest
    {
        let next = match preview.all.latest() {
            Some(entry) => format!("{} becomes the latest", entry.version),
            None => "the channel will have no latest, so it cannot be installed until you publish a version above all \
                     remaining ones, or run this again with `--promote-previous`"
                .to_owned(),
        };
        context.ui.warn(&format!("{version} is the latest of {channel}: {next}"));
        context.confirm("Unpublish it?", Unattended::Refuse)?;
    }
    // The confirmation covers the state that was read above. If this version became the latest
    // since then, the store rejects the change.
    let was_latest = before.as_ref().and_then(|all| all.latest()).is_some_and(|latest| latest.version == version);
    let (promote_previous, even_if_latest) = (args.promote_previous, was_latest);
    let asked = Unpublish { package: &package, channel: &channel, version: &version, promote_previous, even_if_latest };
    let done = match store.unpublish(&asked).await {
        Err(WriteError::IsLatest { .. }) => {
            return Err(Failure::new(format!("{version} has just become the latest of {channel}"))
                .hint("run the command again"));
        }
        done => done?,
    };
    if let Some(problem) = &done.tag_problem {
        context.ui.warn(&problem.to_string());
    }
    // If the version was unpublished earlier, the app's history has it already: this run only
    // promoted another version or completed an interrupted run.
    let was_listed = before.as_ref().is_some_and(|all| all.get(&version).is_some());
    // A package with `--package` may belong to another app, unless `--app` is given.
    let is_apps = args.place.package.is_none() || context.app_in_so_many_words.is_some();
    if let Some(unpublished) = done.unpublished.as_ref().filter(|_| was_listed && is_apps) {
        let publication = Publication {
            done: PublicationKind::Unpublished,
            package: package.clone(),
            channel: channel.clone(),
            version: version.clone(),
            id: unpublished.removed.id.clone(),
            place: store.channel_url(&package, &channel),
            app_version: None,
        };
        tell_app(context, &publication).await;
    }
    let latest = match &done.unpublished {
        Some(unpublished) => unpublished.all.latest().map(|entry| entry.version.to_string()),
        None => store.read(&package, &channel).await?.and_then(|all| Some(all.latest()?.version.to_string())),
    };
    let report = json!({
        "package": package,
        "channel": channel,
        "version": version,
        "latest": latest,
        "artifactRemoved": done.artifact_removed,
        "tagRemoved": done.tag_removed,
        "serial": done.serial,
        "channelUrl": store.channel_url(&package, &channel),
    });
    context.ui.show(
        &report,
        |_| vec![version.to_string()],
        |_| {
            let first = match (&done.unpublished, &latest) {
                (Some(_), Some(latest)) if !was_listed => {
                    format!("Promoted {package} {latest}; {version} was already unpublished.")
                }
                (None, _) => format!("{package} {version} was already unpublished; completed an interrupted run."),
                _ => format!("Unpublished {package} {version}."),
            };
            let latest = match latest {
                Some(latest) => format!("The latest of {channel} is {latest}."),
                None => format!("{channel} now has no latest."),
            };
            let kept = match (&done.unpublished, done.artifact_removed) {
                (Some(unpublished), false) if !unpublished.shared_with.is_empty() => {
                    " Its artifact is kept: another version has the same one."
                }
                _ => "",
            };
            format!("{first} {latest}{kept}")
        },
    )
}
