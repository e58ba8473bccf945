//! Opens the source of an install.

use milepost_channels::registry::Registry;
use milepost_channels::{ChannelError, PublicKey, Source, SourceOptions};
use milepost_model::channel::{ChannelName, Entry, PackageName, SemVer};
use milepost_model::refusal::View;
use milepost_model::{Code, Refusal};

use super::problem::Problem;
use crate::state::State;

/// The prefix of the server's own channels.
pub(super) const OWN: &str = "/channels/";

/// What is known about a channel before it is read.
#[derive(Debug, Clone, Default)]
pub(super) struct Known<'a> {
    pub package: Option<&'a PackageName>,
    pub channel: Option<&'a ChannelName>,
    pub key: Option<&'a str>,
    pub serial: u64,
    /// See [`reach::is_confined`](super::reach::is_confined).
    pub confined: bool,
}

pub(super) fn open(state: &State, place: &str, known: &Known<'_>) -> Result<Source, Problem> {
    let key = known.key.map(parse_key).transpose()?;
    let options = SourceOptions {
        package: known.package.cloned(),
        channel: known.channel.cloned(),
        key,
        minimum_serial: known.serial,
        clock: state.catalog.clock().clone(),
        aws: state.installs.aws.clone(),
        registries: state.installs.registries.clone(),
        http: Some(state.installs.http(known.confined)?),
        ..SourceOptions::default()
    };
    let own = place.strip_prefix(OWN).map(|rest| own_url(state, rest)).transpose()?;
    Ok(Source::open(own.as_deref().unwrap_or(place), options)?)
}

/// The URL of one of the server's own channels. Rejects anything but the name of a package and a
/// channel.
fn own_url(state: &State, rest: &str) -> Result<String, Refusal> {
    let parts = rest.trim_end_matches('/').rsplit_once('/');
    let parsed = parts.and_then(|(package, channel)| Some((package.parse().ok()?, channel.parse().ok()?)));
    let (package, channel): (PackageName, ChannelName) = parsed.ok_or_else(|| {
        Refusal::new(Code::InvalidRequest, format!("`{OWN}{rest}` is not the address of a channel of this server"))
            .correct("write it like `/channels/acme/shop/stable`")
    })?;
    Ok(format!("{}/{package}/{channel}", state.installs.own))
}

pub(super) fn parse_key(text: &str) -> Result<PublicKey, Refusal> {
    text.parse::<PublicKey>().map_err(|error| {
        Refusal::new(Code::InvalidRequest, format!("the public key cannot be used: {error}")).see(View::ChannelKey)
    })
}

pub(crate) fn check_key(text: &str) -> Result<(), Refusal> {
    parse_key(text).map(drop)
}

/// The channel of a version on this server: `stable`, or the one that its pre-release names.
pub(super) fn own_place(package: &PackageName, version: &SemVer) -> String {
    let channel = version.pre().next().unwrap_or(ChannelName::STABLE);
    format!("{OWN}{package}/{channel}")
}

/// Whether the server would read it from its own disk or with its S3 credentials. Only
/// administrators may request that.
pub(super) fn is_guarded(place: &str) -> bool {
    !place.starts_with(OWN) && !["http://", "https://"].iter().any(|scheme| place.starts_with(scheme))
}

/// Finds a version by its tag in a registry, and the reader for its artifact. The tag is resolved
/// once; later requests use the digest.
pub(super) async fn in_registry(
    state: &State,
    package: &PackageName,
    version: &SemVer,
    registry: &str,
    confined: bool,
) -> Result<(Entry, Source), Problem> {
    let found = Registry::open(registry, &state.installs.registries, Some(state.installs.http(confined)?))?
        .find(version)
        .await
        .map_err(ChannelError::Registry)?;
    let digest = found.ok_or_else(|| {
        let message = format!("the registry has no app `{registry}:{}`", version.as_str().replace('+', "_"));
        Refusal::new(Code::VersionNotFound, message).correct("check the name and the version, or ask the author")
    })?;
    let mut entry = Entry::new(version.clone(), digest, state.catalog.now());
    entry.registry = Some(registry.to_owned());
    Ok((entry, open(state, &own_place(package, version), &Known { confined, ..Known::default() })?))
}
