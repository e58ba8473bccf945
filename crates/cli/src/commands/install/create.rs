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
use crate::folders::spinner;

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// A package and its version, like `acme/shop:1.2.3`
    ///
    /// With a registry host, like `registry.example.com/acme/shop:1.2.3`, the version is pulled
    /// from that registry. With `--channel` and without a version, the latest version is installed
    /// and the channel is followed.
    #[arg(value_name = "NAME[:VERSION]")]
    reference: Option<String>,
    /// Follow this channel: its URL, or a folder on the server
    ///
    /// Installs the latest version of the channel. If NAME has a version, that version is installed
    /// from the channel and pinned.
    #[arg(long, value_name = "URL")]
    channel: Option<String>,
    /// Pull the version from this OCI repository, like `registry.example.com/team/shop`
    #[arg(long, value_name = "REPOSITORY", conflicts_with = "channel")]
    registry: Option<String>,
    /// Install from a file made by `milepost bundle`, without a network
    #[arg(long, value_name = "FILE", conflicts_with_all = ["channel", "registry"])]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: CreateArgs) -> Result<()> {
    let settings = args.settings.over(InstallSettings::default())?;
    // A name without a version, together with a channel, follows the channel.
    let followed = args.reference.as_deref().filter(|_| args.channel.is_some()).and_then(reference::package);
    let reference = args.reference.as_deref().filter(|_| followed.is_none());
    let parse = |text| reference::parse(text).map_err(|error| suggest_command(text, error));
    let reference = reference.map(parse).transpose()?;
    if let (Some(option), true) = (args.settings.of_followed(), reference.is_some() || args.bundle.is_some()) {
        return Err(Failure::usage(format!(
            "`{option}` applies only to installs that follow a channel; this one is pinned to its version"
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
            return Err(Failure::usage("no package or channel given").hint(
                "name a version, like `milepost install acme/shop:1.2.3`, or follow a channel with `--channel URL`",
            ));
        }
        (None, Some(url)) => InstallFrom::Channel { url: absolute_place(&url)?, package: followed },
        (Some(Reference { registry, package, version }), channel) => {
            let channel = channel.map(|url| absolute_place(&url)).transpose()?;
            // With a channel, the version comes from there, and a host is part of the package's
            // name.
            let registry = if channel.is_some() { None } else { args.registry.or(registry) };
            InstallFrom::Pinned { package, version, channel, registry }
        }
    };
    let mut new = NewInstall { app, from, secrets, settings };
    let installed = loop {
        let waiting = spinner(context.ui, "Installing, then checking that the app is healthy");
        let installed = context.client.install_create(&new).await;
        drop(waiting);
        match installed {
            Ok(installed) => break installed,
            Err(error) if ask_for(context, &error, &mut new.secrets)? => {}
            Err(error) => return Err(error.into()),
        }
    };
    done(context, &installed)
}

/// Adds a suggestion if an invalid reference looks like a mistyped subcommand.
fn suggest_command(text: &str, failure: Failure) -> Failure {
    let commands: Vec<String> = super::InstallCommand::augment_subcommands(clap::Command::new("install"))
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    match closest(text, commands.iter().map(String::as_str)).first() {
        Some(near) => failure.hint(format!(
            "did you mean `milepost install {near}`? To install a package, add its version, like `{text}:1.2.3`"
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

/// Makes a path absolute: the server, which has another working directory, reads the folder.
fn absolute_place(place: &str) -> Result<String> {
    if place.contains("://") || place.starts_with("/channels/") {
        return Ok(place.to_owned());
    }
    let path = Path::new(place);
    let path = std::path::absolute(path).map_err(|error| Failure::unreadable(path, &error))?;
    Ok(path.display().to_string())
}
