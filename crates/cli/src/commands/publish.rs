mod content;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use futures::StreamExt as _;
use indicatif::{ProgressBar, ProgressStyle};
use milepost_channels::registry::Registry;
use milepost_channels::{Publish, Published, Store, WriteError};
use milepost_declared::manifest::version_of;
use milepost_model::channel::publish::version_to_publish;
use milepost_model::channel::{ChannelName, PackageName, Publication, PublicationKind, PublishRefusal, SemVer};
use milepost_model::digest::Hasher;
use milepost_model::{Digest, Timestamp};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::args::Global;
use crate::commands::channel::place::{PlaceArgs, SignArgs, channel_of};
use crate::commands::channel::tell_app::tell_app;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders::not_publishable;
use crate::output::Ui;

/// Publish the app under a version, for other servers to install
///
/// The milepost.yaml in DIR names the app and the version. The live release of that app is packed
/// into one file and added to the channel `stable`, or to another channel with `--pre`. If DIR
/// differs from what is live, nothing is published: deploy DIR first, or choose the content with
/// `--app-version`. The file does not contain values of secrets. A published version never changes.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// The folder with milepost.yaml, or the file itself
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    manifest: PathBuf,
    /// Publish a pre-release to this channel, like `beta`, `beta.2` or `beta+123`
    #[arg(long, value_name = "CHANNEL[.N][+BUILD]", allow_hyphen_values = true)]
    pre: Option<String>,
    /// The app version to publish: a uid, number, release, tag, `live`, `latest` or `head`
    ///
    /// It is not compared with DIR. By default the live app version is published, if DIR matches
    /// it.
    #[arg(long, value_name = "VERSION")]
    app_version: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Push the artifact to this OCI repository, like `registry.example.com/team/shop`
    #[arg(long, value_name = "HOST/REPO")]
    registry: Option<String>,
    #[command(flatten)]
    sign: SignArgs,
    /// Run every check, but publish nothing
    #[arg(long)]
    dry_run: bool,
}

pub async fn run(ui: &Ui, global: &Global, args: PublishArgs) -> Result<()> {
    let manifest = version_of(&args.manifest).map_err(not_publishable)?;
    let declared = content::read(&args.manifest, args.app_version.is_some())?;
    let context = &Context::new(ui, &content::app(global, &declared)?)?;
    let version = version_to_publish(&manifest, args.pre.as_deref()).map_err(|error| {
        Failure::usage(format!("`--pre`: {error}"))
            .hint("start with the channel, like `--pre beta` or `--pre beta.2+123`")
    })?;
    // A pre-release version in the manifest has no channel here; `store.check` reports it.
    let channel = if args.pre.is_some() { channel_of(&version)? } else { ChannelName::stable() };
    let (package, store) = args.place.open(context, Some(&args.sign))?;
    let wanted = Wanted { package, channel, version, manifest, registry: args.registry, now: to_the_second(context) };

    if let Some(repository) = &wanted.registry {
        Registry::open(repository, &[], None)?;
    }
    // Checks before the server builds the artifact: most refusals do not depend on it.
    let nothing = Digest::of(b"");
    let taken = match store.check(&wanted.publish(Path::new(""), nothing)).await {
        Err(error @ WriteError::Publish(PublishRefusal::Reused(_) | PublishRefusal::Exists(..))) => Some(error),
        checked => checked.map(|()| None)?,
    };
    let app_version = match &args.app_version {
        Some(version) => version.clone(),
        None => match content::live(context, &declared).await? {
            Ok(live) => live,
            // For a changed folder under a published version, the version is the first thing to
            // fix.
            Err(differs) => return Err(taken.map_or(differs, Into::into)),
        },
    };
    let made = fetch(context, Some(&app_version)).await?;
    let publish = wanted.publish(made.file.path(), made.digest);
    if let Some(all) = store.read(&wanted.package, &wanted.channel).await?
        && let Some(same) = all.with_digest(made.digest).find(|entry| entry.version != wanted.version)
    {
        context.ui.warn(&format!(
            "{} is identical to {}: nothing was deployed in between, or the deploy is not live",
            wanted.version, same.version
        ));
    }
    if args.dry_run {
        store.check(&publish).await?;
        return show_result(context, &store, &wanted, &made, None);
    }
    let bar = if context.ui.shows_progress() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    bar.set_message(format!("Publishing {} {}", wanted.package, wanted.version));
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    let published = store.publish(&publish).await;
    bar.finish_and_clear();
    let published = published?;
    if published.tag_problem.is_some() {
        let version = &wanted.version;
        context.ui.warn(&format!(
            "{version} is published, but a concurrent push took its tag in the registry; installs use the digest and are not \
             affected; to fix the tag, delete it and publish again"
        ));
    }
    let publication = Publication {
        done: PublicationKind::Published,
        package: wanted.package.clone(),
        channel: wanted.channel.clone(),
        version: wanted.version.clone(),
        id: made.digest.into(),
        place: store.channel_url(&wanted.package, &wanted.channel),
        app_version: Some(made.app_version.clone()),
    };
    tell_app(context, &publication).await;
    show_result(context, &store, &wanted, &made, Some(&published))
}

struct Wanted {
    package: PackageName,
    channel: ChannelName,
    version: SemVer,
    manifest: SemVer,
    registry: Option<String>,
    now: Timestamp,
}

impl Wanted {
    fn publish<'a>(&'a self, artifact: &'a Path, digest: Digest) -> Publish<'a> {
        Publish {
            package: &self.package,
            channel: &self.channel,
            version: &self.version,
            manifest: &self.manifest,
            artifact,
            digest,
            create_time: self.now,
            registry: self.registry.as_deref(),
        }
    }
}

/// An artifact downloaded from the server, before it is published.
struct Made {
    file: NamedTempFile,
    digest: Digest,
    size: u64,
    app_version: String,
}

async fn fetch(context: &Context<'_>, app_version: Option<&str>) -> Result<Made> {
    let mut download = context.client.artifact(&context.app, app_version).await?;
    for note in &download.notes {
        context.ui.warn(note);
    }
    let bar = match (context.ui.shows_progress(), download.size) {
        (true, Some(size)) => ProgressBar::new(size),
        (true, None) => ProgressBar::new_spinner(),
        (false, _) => ProgressBar::hidden(),
    };
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}") {
        bar.set_style(style);
    }
    bar.set_message("Packing");
    let mut file = NamedTempFile::new()?;
    let (mut hasher, mut size) = (Hasher::default(), 0);
    while let Some(chunk) = download.bytes.next().await {
        let chunk = chunk?;
        hasher.update(&chunk);
        size += chunk.len() as u64;
        bar.inc(chunk.len() as u64);
        file.write_all(&chunk)?;
    }
    file.flush()?;
    bar.finish_and_clear();
    if download.size.is_some_and(|expected| expected != size) {
        return Err(Failure::new("the download of the artifact was incomplete").hint("run the command again"));
    }
    Ok(Made { file, digest: hasher.finish(), size, app_version: download.app_version })
}

/// Truncates to seconds, the precision of `createTime` in a channel.
fn to_the_second(context: &Context<'_>) -> Timestamp {
    let now = context.ui.now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn show_result(
    context: &Context<'_>,
    store: &Store,
    wanted: &Wanted,
    made: &Made,
    published: Option<&Published>,
) -> Result<()> {
    let Wanted { package, channel, version, .. } = wanted;
    let url = store.channel_url(package, channel);
    let key = store.public_key().map(ToString::to_string);
    let with_key = key.as_ref().map(|key| format!(" --key {key}")).unwrap_or_default();
    let install = format!("milepost install --channel {url}{with_key}");
    let report = json!({
        "package": package,
        "channel": channel,
        "version": version,
        "id": made.digest,
        "size": made.size,
        "appVersion": made.app_version,
        "createTime": published.map_or(wanted.now, |published| published.entry.create_time),
        "registry": wanted.registry,
        "latest": published.map(|published| published.is_latest),
        "serial": published.and_then(|published| published.serial),
        "key": key,
        "channelUrl": url,
        "install": install,
        "dryRun": published.is_none(),
    });
    context.ui.show(
        &report,
        |_| vec![version.to_string()],
        |_| {
            let first = match published {
                None => format!("Would publish {package} {version} to {channel}."),
                Some(done) if done.finished_earlier => {
                    format!("{package} {version} was already in {channel}; completed an interrupted publish.")
                }
                Some(done) if done.is_latest => {
                    format!("Published {package} {version} to {channel}; it is now the latest.")
                }
                Some(done) => match (done.all.latest(), done.all.versions(), done.all.unpublished()) {
                    (Some(latest), ..) => {
                        format!("Published {package} {version} to {channel}; the latest is still {}.", latest.version)
                    }
                    (None, [above, ..], [gone, ..]) => format!(
                        "Published {package} {version} to {channel}, which still has no latest, because {} is higher. Run `milepost \
                         unpublish {} --promote-previous` to make {} the latest.",
                        above.version, gone.version, above.version
                    ),
                    (None, ..) => format!("Published {package} {version} to {channel}, which has no latest."),
                },
            };
            let mut lines = vec![first, format!("Digest   {} ({} bytes)", made.digest, made.size)];
            if let Some(registry) = &wanted.registry {
                lines.push(format!("Tag      {registry}:{}", version.as_str().replace('+', "_")));
            }
            lines.push(format!("Channel  {url}"));
            if published.is_some() {
                lines.push(format!("Install  {install}"));
            }
            lines.join("\n")
        },
    )
}
