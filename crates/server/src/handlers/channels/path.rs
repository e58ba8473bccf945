//! `{package}/{channel}/{file}`, where a package may contain slashes.

use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use milepost_channels::Files;
use milepost_model::channel::{ChannelName, PackageName};
use milepost_model::{Code, Digest, Refusal};

/// A validated file of a channel. Its name is safe on disk and in a bucket.
pub(super) struct ChannelFile {
    pub package: PackageName,
    pub channel: ChannelName,
    pub kind: Kind,
    /// Relative to the directory of all channels.
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    All,
    Latest,
    Signature,
    Artifact(Digest),
}

impl ChannelFile {
    pub(super) fn parse(path: &str) -> Result<Self, Refusal> {
        Self::read(path).ok_or_else(|| not_there(path))
    }

    fn read(path: &str) -> Option<Self> {
        let (folder, file) = path.rsplit_once('/')?;
        let (folder, kind) = match file {
            "all" => (folder, Kind::All),
            "latest" => (folder, Kind::Latest),
            "all.minisig" | "all.minisig.next" | "latest.minisig" => (folder, Kind::Signature),
            hex => (folder.strip_suffix("/artifacts")?, Kind::Artifact(format!("sha256:{hex}").parse().ok()?)),
        };
        let (package, channel) = folder.rsplit_once('/')?;
        let (package, channel) = (package.parse().ok()?, channel.parse().ok()?);
        let name = match kind {
            Kind::Artifact(digest) => Files::of(&package, &channel).artifact(digest),
            _ => format!("{package}/{channel}/{file}"),
        };
        Some(Self { package, channel, kind, name })
    }
}

pub(super) fn not_there(path: &str) -> Refusal {
    let shown: String = path.chars().filter(|letter| !letter.is_control()).take(200).collect();
    Refusal::new(Code::RouteNotFound, format!("the channels of this server have no `{shown}`"))
        .correct("a channel's files are `/channels/PACKAGE/CHANNEL/latest`, `all` and `artifacts/…`")
}

/// The ETags of a conditional request.
pub(super) fn tags<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag)).filter(|tag| !tag.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_package_channel_and_file() {
        let file = ChannelFile::parse("crossplane/aws-stack/beta/latest").expect("read");
        assert_eq!(
            (file.package.as_str(), file.channel.as_str(), file.kind),
            ("crossplane/aws-stack", "beta", Kind::Latest)
        );
        let hex = "ab".repeat(32);
        let file = ChannelFile::parse(&format!("shop/stable/artifacts/{hex}")).expect("read");
        assert_eq!(file.name, format!("shop/stable/artifacts/{hex}"));
        assert!(matches!(file.kind, Kind::Artifact(_)));
    }

    #[test]
    fn rejects_other_paths() {
        let hex = "ab".repeat(32);
        for bad in [
            "",
            "all",
            "stable/all",
            "../shop/stable/all",
            "shop/../stable/all",
            "shop/stable/.lock",
            "shop/stable/other",
            "shop/stable/artifacts/ab",
            "Shop/stable/all",
            "shop/latest/all",
            "/shop/stable/all",
            "shop//stable/all",
            &format!("shop/stable/{hex}"),
            &format!("artifacts/{hex}"),
        ] {
            assert!(ChannelFile::parse(bad).is_err(), "{bad} was found");
        }
    }
}
