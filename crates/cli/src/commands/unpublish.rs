use clap::Args;
use milepost_channels::{Unpublish, WriteError};
use milepost_model::channel::{self, Publication, PublicationKind, SemVer};
use serde_json::json;

use crate::commands::channel::place::{PlaceArgs, SignArgs, channel_of};
use crate::commands::channel::tell_app::tell_app;
use crate::context::{Context, Unattended};
use crate::failure::{Failure, Result};

/// Take a published version back
///
/// Nobody installs it any more, and installs that have it move to a replacement patch at once where their policy allows. Its text
/// stays bound to its content: publish a higher version, ideally before. If it is the latest, you are asked, and the channel
/// has no latest until you publish a version above all that remain, or with `--promote-previous`, now or in a second run, the
/// highest that remains.
#[derive(Debug, Args)]
pub struct UnpublishArgs {
    /// The version, as it was published: `1.2.3`, `1.3.0-beta.1`
    #[arg(value_name = "VERSION")]
    version: String,
    /// If it is the latest, make the highest that remains latest
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
            None => "the channel will have no latest, so nobody can install it until you publish a version above all that remain, or \
                     run this again with `--promote-previous`"
                .to_owned(),
        };
        context.ui.warn(&format!("{version} is the latest of {channel}: {next}"));
        context.confirm("Unpublish it?", Unattended::Refuse)?;
    }
    // Asked above, as it was then; if another became latest meanwhile, that is told and not done.
    let was_latest = before.as_ref().and_then(|all| all.latest()).is_some_and(|latest| latest.version == version);
    let (promote_previous, even_if_latest) = (args.promote_previous, was_latest);
    let asked = Unpublish { package: &package, channel: &channel, version: &version, promote_previous, even_if_latest };
    let done = match store.unpublish(&asked).await {
        Err(WriteError::IsLatest { .. }) => {
            return Err(
                Failure::new(format!("{version} has become the latest of {channel} meanwhile")).hint("run it again")
            );
        }
        done => done?,
    };
    if let Some(problem) = &done.tag_problem {
        context.ui.warn(&problem.to_string());
    }
    // One that was taken back before is told already: this run made another one latest, or finished what was left.
    let was_listed = before.as_ref().is_some_and(|all| all.get(&version).is_some());
    // A package of another name is not known to be of this app, unless it is said.
    let is_apps = args.place.package.is_none() || context.app_in_so_many_words.is_some();
    if let Some(unpublished) = done.unpublished.as_ref().filter(|_| was_listed && is_apps) {
        let told = Publication {
            done: PublicationKind::Unpublished,
            package: package.clone(),
            channel: channel.clone(),
            version: version.clone(),
            id: unpublished.removed.id.clone(),
            place: store.channel_url(&package, &channel),
            app_version: None,
        };
        tell_app(context, &told).await;
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
                    format!("Promoted {package} {latest}: {version} was unpublished before.")
                }
                (None, _) => format!("{package} {version} was unpublished before; what was left undone is done."),
                _ => format!("Unpublished {package} {version}."),
            };
            let latest = match latest {
                Some(latest) => format!("The latest of {channel} is {latest}."),
                None => format!("{channel} has no latest now."),
            };
            let kept = match (&done.unpublished, done.artifact_removed) {
                (Some(unpublished), false) if !unpublished.shared_with.is_empty() => {
                    " Its artifact stays: another version has the same."
                }
                _ => "",
            };
            format!("{first} {latest}{kept}")
        },
    )
}
