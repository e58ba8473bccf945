//! Opening the place that an install comes from.

use milepost_channels::{PublicKey, Source, SourceOptions};
use milepost_model::channel::{ChannelName, PackageName, SemVer};
use milepost_model::{Code, Refusal};

use super::problem::Problem;
use crate::state::State;

/// Places that begin with this are the server's own channels.
const OWN: &str = "/channels/";

/// What is known about a channel before it is read.
#[derive(Debug, Clone, Default)]
pub(super) struct Known<'a> {
    pub package: Option<&'a PackageName>,
    pub channel: Option<&'a ChannelName>,
    pub key: Option<&'a str>,
    pub serial: u64,
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
        ..SourceOptions::default()
    };
    let own = place.strip_prefix(OWN).map(|rest| format!("{}/{rest}", state.installs.own));
    Ok(Source::open(own.as_deref().unwrap_or(place), options)?)
}

pub(super) fn parse_key(text: &str) -> Result<PublicKey, Refusal> {
    text.parse::<PublicKey>().map_err(|error| {
        Refusal::new(Code::InvalidRequest, format!("The public key cannot be used: {error}."))
            .hint("`milepost channel key` prints the one of an author")
    })
}

/// Where a version stands on this server: in `stable`, or in the channel that its pre-release names.
pub(super) fn own_place(package: &PackageName, version: &SemVer) -> String {
    let channel = version.pre().next().unwrap_or(ChannelName::STABLE);
    format!("{OWN}{package}/{channel}")
}

/// Whether reading it means reading this machine's disk: only those who administer the server may ask for that.
pub(super) fn is_folder(place: &str) -> bool {
    !place.starts_with(OWN) && !["http://", "https://", "s3://"].iter().any(|scheme| place.starts_with(scheme))
}
