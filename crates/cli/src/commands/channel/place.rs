//! Options for the location of channels, the signing key, and credentials.

use std::path::{Path, PathBuf};

use clap::Args;
use milepost_channels::registry::Credentials;
use milepost_channels::signature::KeyError;
use milepost_channels::{ChannelError, PublicKey, SecretKey, Source, SourceOptions, Store, StoreOptions, WriteError};
use milepost_model::channel::{ChannelName, PackageName, SemVer};

use crate::args::Global;
use crate::context::{Context, DEFAULT_APP};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Options of commands that read or write the author's own channels.
#[derive(Debug, Clone, Default, Args)]
pub struct PlaceArgs {
    /// Package name [default: the app's name]
    #[arg(long, value_name = "NAME")]
    pub package: Option<String>,
    /// Channel location: a folder, an S3 bucket or a server [default: the server]
    ///
    /// Write a bucket as `s3://bucket/prefix`, and a server as its URL followed by `/channels`.
    #[arg(long, value_name = "URL", env = "MILEPOST_CHANNELS", hide_env_values = true)]
    pub to: Option<String>,
    /// Token for the server in `--to`, if it is not the default server
    #[arg(long, value_name = "TOKEN", env = "MILEPOST_CHANNELS_TOKEN", hide_env_values = true)]
    pub to_token: Option<String>,
}

/// Options of commands that write to a channel.
#[derive(Debug, Clone, Default, Args)]
pub struct SignArgs {
    /// Secret key that signs the channel [default: the key of `milepost channel key`]
    #[arg(long, value_name = "FILE", env = "MILEPOST_KEY", hide_env_values = true)]
    pub key: Option<PathBuf>,
    /// Do not sign the channel
    #[arg(long, conflicts_with = "key")]
    pub no_key: bool,
    /// Sign an existing channel that this key has not signed; review it first
    #[arg(long)]
    pub sign_existing: bool,
}

impl PlaceArgs {
    /// Returns the package and the store that holds its channels.
    pub fn open(&self, context: &Context<'_>, sign: Option<&SignArgs>) -> Result<(PackageName, Store)> {
        let package = self.package(Some(&context.app))?;
        Ok((package, self.store(context.ui, Some(context), sign)?))
    }

    pub fn package(&self, app: Option<&str>) -> Result<PackageName> {
        Ok(self.package.as_deref().or(app).unwrap_or(DEFAULT_APP).parse()?)
    }

    /// Opens the store at `--to`, or the server's own channels.
    pub fn store(&self, ui: &Ui, context: Option<&Context<'_>>, sign: Option<&SignArgs>) -> Result<Store> {
        let own = || {
            let server = context.map(|context| context.client.server().origin().ascii_serialization());
            server.map(|server| format!("{server}/channels"))
        };
        let missing = || Failure::usage("no channel location was given").hint("pass `--to`, or start a server");
        let place = self.to.clone().or_else(own).ok_or_else(missing)?;
        let key = match sign {
            Some(sign) => sign.load(ui)?,
            None => None,
        };
        let options = StoreOptions {
            token: self.to_token.clone().or_else(|| {
                context.map(|context| context.client.token().to_owned()).filter(|_| self.is_servers(context))
            }),
            key,
            sign_existing: sign.is_some_and(|sign| sign.sign_existing),
            registries: registry_credentials(),
            ..StoreOptions::default()
        };
        Ok(Store::open(&place, options)?)
    }

    /// Whether the channels are on the context's server. Its token must not go to any other host.
    fn is_servers(&self, context: Option<&Context<'_>>) -> bool {
        let Some(context) = context else { return false };
        let server = format!("{}/", context.client.server().origin().ascii_serialization());
        self.to.as_deref().is_none_or(|to| to.starts_with(&server))
    }

    /// Returns the context if there is a server. Fails without one only if `--to` needs it: folders
    /// and buckets do not.
    pub fn context<'a>(&self, ui: &'a Ui, global: &Global) -> Result<Option<Context<'a>>> {
        match (&self.to, Context::new(ui, global)) {
            (_, Ok(context)) => Ok(Some(context)),
            (Some(to), Err(_)) if !to.starts_with("http") => Ok(None),
            (_, Err(failure)) => Err(failure),
        }
    }
}

impl SignArgs {
    fn load(&self, ui: &Ui) -> Result<Option<SecretKey>> {
        if self.no_key {
            return Ok(None);
        }
        match &self.key {
            Some(path) => load_key(ui, path).map(Some),
            None => match default_key_file() {
                Some(path) if path.is_file() => load_key(ui, &path).map(Some),
                _ => Ok(None),
            },
        }
    }
}

/// The default key file of `milepost channel key`.
pub fn default_key_file() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    Some(set.or_else(home)?.join("milepost/channel.key"))
}

/// Loads a key. Prompts for its password if it has one and MILEPOST_KEY_PASSWORD is not set.
pub fn load_key(ui: &Ui, path: &Path) -> Result<SecretKey> {
    let given = std::env::var("MILEPOST_KEY_PASSWORD").ok();
    match SecretKey::load(path, given.as_deref()) {
        Err(KeyError::NeedsPassword(_)) if ui.can_ask() => {
            let password = rpassword::prompt_password(format!("Password for {}: ", path.display()))?;
            Ok(SecretKey::load(path, Some(&password))?)
        }
        loaded => Ok(loaded?),
    }
}

/// Parses a public key, or reads it from the file of that name.
pub fn public_key(text: &str) -> Result<PublicKey> {
    if let Ok(key) = text.parse() {
        return Ok(key);
    }
    match std::fs::read_to_string(text) {
        Ok(read) => Ok(read.parse::<PublicKey>()?),
        Err(_) => Err(text.parse::<PublicKey>().err().map_or_else(|| Failure::usage("not a public key"), Into::into)),
    }
}

/// The channel of a version: its first pre-release identifier, or `stable`.
pub fn channel_of(version: &SemVer) -> Result<ChannelName> {
    match version.pre().next() {
        None => Ok(ChannelName::stable()),
        Some(name) => Ok(name.parse()?),
    }
}

/// Opens a channel for reading. `channel` is an address, or a name at the author's own location.
pub fn source(ui: &Ui, global: &Global, place: &PlaceArgs, channel: Option<&str>, key: Option<&str>) -> Result<Source> {
    let key = key.map(public_key).transpose()?;
    let options = SourceOptions { key, registries: registry_credentials(), ..SourceOptions::default() };
    if let Some(address) = channel.filter(|text| text.contains('/') || Path::new(text).is_file()) {
        return Ok(Source::open(address, options)?);
    }
    let channel: ChannelName = channel.unwrap_or(ChannelName::STABLE).parse()?;
    let context = place.context(ui, global)?;
    let app = context.as_ref().map(|context| context.app.as_str());
    let package = place.package(app.or(global.app.as_deref()))?;
    let url = place.store(ui, context.as_ref(), None)?.channel_url(&package, &channel);
    let options = SourceOptions { package: Some(package), channel: Some(channel), ..options };
    Ok(Source::open(&url, options)?)
}

/// Registry credentials of the user: MILEPOST_REGISTRY_* first, then the login files of docker,
/// podman and skopeo.
pub fn registry_credentials() -> Vec<Credentials> {
    own_credentials().into_iter().chain(remembered_credentials()).collect()
}

/// Registry credentials of a server. It logs in on behalf of its users, so the operator's stored
/// logins are limited to the hosts of `--install-from`.
pub fn server_credentials(hosts: &[String]) -> Vec<Credentials> {
    let remembered = remembered_credentials().into_iter().filter(|known| hosts.contains(&known.host));
    own_credentials().into_iter().chain(remembered).collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn own_credentials() -> Option<Credentials> {
    let (host, user) = (variable("MILEPOST_REGISTRY_HOST")?, variable("MILEPOST_REGISTRY_USER")?);
    Some(Credentials { host, user, password: variable("MILEPOST_REGISTRY_PASSWORD")? })
}

fn remembered_credentials() -> Vec<Credentials> {
    let docker = variable("DOCKER_CONFIG").or_else(|| Some(format!("{}/.docker", variable("HOME")?)));
    let containers = variable("XDG_RUNTIME_DIR").map(|folder| format!("{folder}/containers/auth.json"));
    let mut known = Vec::new();
    for file in [docker.map(|folder| format!("{folder}/config.json")), containers].into_iter().flatten() {
        if let Ok(json) = std::fs::read_to_string(file) {
            known.extend(Credentials::from_docker_config(&json));
        }
    }
    known
}

/// Errors of the channels crate carry their hint after a semicolon.
fn split_hint(sentence: &str) -> Failure {
    match sentence.split_once("; ") {
        Some((message, hint)) => Failure::new(message).hint(hint),
        None => Failure::new(sentence),
    }
}

impl From<ChannelError> for Failure {
    fn from(error: ChannelError) -> Self {
        match &error {
            ChannelError::NotPublished { .. } => {
                split_hint(&error.to_string()).hint("run `milepost channel show` to see its versions")
            }
            ChannelError::BadBundle(_) => split_hint(&error.to_string()).hint("make it again with `milepost bundle`"),
            // The storage's own message may contain semicolons, so the hint follows the last one.
            ChannelError::Storage(_) => match error.to_string().rsplit_once("; ") {
                Some((message, hint)) => Self::new(message).hint(hint),
                None => split_hint(&error.to_string()),
            },
            ChannelError::Unusable { place, reason } => {
                let failure = Self::usage(format!("`{place}` is not a channel location"));
                match reason.split_once("; ") {
                    Some((reason, hint)) => {
                        Self::usage(format!("`{place}` is not a channel location: {reason}")).hint(hint)
                    }
                    None => failure.hint(reason.clone()),
                }
            }
            _ => split_hint(&error.to_string()),
        }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let error = match error {
            WriteError::Channel(error) => return error.into(),
            error => error,
        };
        match &error {
            WriteError::Storage { error: inner, .. } => split_hint(&error.to_string()).caused_by(inner),
            WriteError::Refused { detail, place, hint, .. } => {
                Self::new(format!("`{place}` refused the request: {detail}")).hint(hint.clone())
            }
            _ => match write_hint(&error) {
                Some(hint) => split_hint(&error.to_string()).hint(hint),
                None => split_hint(&error.to_string()),
            },
        }
    }
}

/// The options that settle it.
fn write_hint(error: &WriteError) -> Option<&'static str> {
    Some(match error {
        WriteError::IsLatest { .. } => "confirm that, or pass `--promote-previous` to promote the version before it",
        WriteError::KeyNeeded => "pass its key with `--key`",
        WriteError::OtherKey { .. } => {
            "use the channel's own key, or check its versions with `milepost channel show` and replace the key with \
             `--sign-existing`"
        }
        WriteError::NotSigned => {
            "check them with `milepost channel show`, then run the command again with `--sign-existing`"
        }
        WriteError::Altered | WriteError::Implausible { .. } => {
            "compare the channel with what you published, then run the command again with `--sign-existing`"
        }
        _ => return None,
    })
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        let failure = split_hint(&error.to_string());
        match error {
            KeyError::NotSecret(_) => failure.hint("give the file that `milepost channel key` or `minisign -G` wrote"),
            _ => failure,
        }
    }
}
