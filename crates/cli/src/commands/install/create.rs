use std::path::{Path, PathBuf};

use clap::{Args, Subcommand as _};
use milepost_client::ClientError;
use milepost_model::install::{InstallFrom, InstallSettings, Installed, NewInstall};
use milepost_model::suggest::closest;

use super::inputs::{SecretArgs, ask_for};
use super::reference::{self, Reference};
use super::settings::SettingsArgs;
use super::{open_bundle, show};
use crate::context::Context;
use crate::failure::{Failure, Result};

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// A package and its version, like `acme/shop:1.2.3`; with a host in front, from that registry; with `--channel` the version
    /// may be left out, and the latest is installed and followed
    #[arg(value_name = "NAME[:VERSION]")]
    reference: Option<String>,
    /// The address of a channel, or a folder on the server: its latest is installed and followed; with a version, the place that has it
    #[arg(long, value_name = "URL")]
    channel: Option<String>,
    /// The OCI repository that has the version, like `registry.example.com/team/shop`
    #[arg(long, value_name = "REPOSITORY", conflicts_with = "channel")]
    registry: Option<String>,
    /// A file of `milepost bundle`: nothing is fetched
    #[arg(long, value_name = "FILE", conflicts_with_all = ["channel", "registry"])]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: CreateArgs) -> Result<()> {
    let settings = args.settings.over(InstallSettings::default())?;
    // As the seed has it: a name without a version and a channel follow the channel.
    let followed = args.reference.as_deref().filter(|_| args.channel.is_some()).and_then(reference::package);
    let reference = args.reference.as_deref().filter(|_| followed.is_none());
    let reference = reference.map(|text| reference::parse(text).map_err(|error| meant(text, error))).transpose()?;
    if let (Some(option), true) = (args.settings.of_followed(), reference.is_some() || args.bundle.is_some()) {
        return Err(Failure::usage(format!(
            "`{option}` is for installs that follow a channel, and this one stays at its version"
        ))
        .hint("leave it out, or follow a channel with `milepost install --channel URL`"));
    }
    let app = app.map(str::parse).transpose()?;
    let secrets = args.secrets.read()?;
    if let Some(file) = &args.bundle {
        return from_bundle(context, file, reference.as_ref(), app, secrets, settings).await;
    }
    let from = match (reference, args.channel) {
        (None, None) => {
            return Err(Failure::usage("there is nothing to install")
                .hint("name a version, like `milepost install acme/shop:1.2.3`, or a channel with `--channel URL`"));
        }
        (None, Some(url)) => InstallFrom::Channel { url: whole_path(&url)?, package: followed },
        (Some(Reference { registry, package, version }), channel) => {
            let channel = channel.map(|url| whole_path(&url)).transpose()?;
            // A channel says where the version is; a host in the name is then a part of the package's name.
            let registry = if channel.is_some() { None } else { args.registry.or(registry) };
            InstallFrom::Pinned { package, version, channel, registry }
        }
    };
    let mut new = NewInstall { app, from, secrets, settings };
    let installed = loop {
        match context.client.install_create(&new).await {
            Ok(installed) => break installed,
            Err(error) if ask_for(context, &error, &mut new.secrets)? => {}
            Err(error) => return Err(error.into()),
        }
    };
    done(context, &installed)
}

/// What is no reference may be a command that was mistyped.
fn meant(text: &str, failure: Failure) -> Failure {
    let commands: Vec<String> = super::InstallCommand::augment_subcommands(clap::Command::new("install"))
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    match closest(text, commands.iter().map(String::as_str)).first() {
        Some(near) => failure.hint(format!(
            "did you mean `milepost install {near}`? To install an app, name its version too, like `{text}:1.2.3`"
        )),
        None => failure,
    }
}

async fn from_bundle(
    context: &Context<'_>,
    file: &Path,
    reference: Option<&Reference>,
    app: Option<milepost_model::AppName>,
    secrets: std::collections::BTreeMap<milepost_model::UnitName, milepost_model::unit_put::SecretPut>,
    settings: InstallSettings,
) -> Result<()> {
    let (package, version) = (reference.map(|named| &named.package), reference.map(|named| &named.version));
    let bundle = open_bundle(file, settings.key.as_deref(), package, version).await?;
    let from = InstallFrom::Bundle {
        package: bundle.package.clone(),
        channel: bundle.channel.clone(),
        entry: bundle.entry.clone(),
        serial: bundle.serial,
    };
    let mut new = NewInstall { app, from, secrets, settings };
    let installed = loop {
        let sent: Result<Installed, ClientError> = context.client.install_bundle(&new, bundle.artifact().await?).await;
        match sent {
            Ok(installed) => break installed,
            Err(error) if ask_for(context, &error, &mut new.secrets)? => {}
            Err(error) => return Err(error.into()),
        }
    };
    done(context, &installed)
}

fn done(context: &Context<'_>, installed: &Installed) -> Result<()> {
    show::installed(context, installed)
}

/// A folder is read by the server, which stands elsewhere.
fn whole_path(place: &str) -> Result<String> {
    if place.contains("://") || place.starts_with("/channels/") {
        return Ok(place.to_owned());
    }
    let path = Path::new(place);
    let path = std::path::absolute(path).map_err(|error| Failure::unreadable(path, &error))?;
    Ok(path.display().to_string())
}
