//! References to packages: `NAME:1.2.3` and `HOST/NAME:1.2.3`.

use milepost_model::channel::{PackageName, SemVer};

use crate::failure::{Failure, Result};

#[derive(Debug, PartialEq)]
pub struct Reference {
    /// The OCI repository, if the reference names a host.
    pub registry: Option<String>,
    pub package: PackageName,
    pub version: SemVer,
}

/// Parses a name without a version, as given together with `--channel`.
pub fn package(text: &str) -> Option<PackageName> {
    let (name, version) = split(text);
    name.parse().ok().filter(|_| version.is_none())
}

/// The first part is a host if it has a dot or a port or is `localhost`, as in image references.
pub fn parse(text: &str) -> Result<Reference> {
    let (name, version) = split(text);
    let version = version.ok_or_else(|| {
        Failure::usage(format!("`{text}` has no version"))
            .hint(format!("add one, like `{name}:1.2.3`, or follow a channel with `--channel URL`"))
    })?;
    // Registry tags cannot contain `+`: they have `_` in its place.
    let version: SemVer = version.replace('_', "+").parse().map_err(|error| Failure::usage(format!("{error}")))?;
    let host = name.split_once('/').filter(|(first, _)| first.contains(['.', ':']) || *first == "localhost");
    let package = host.map_or(name, |(_, rest)| rest);
    Ok(Reference { registry: host.map(|_| name.to_owned()), package: package.parse()?, version })
}

fn split(text: &str) -> (&str, Option<&str>) {
    let last = text.rfind('/').map_or(0, |at| at + 1);
    match text[last..].split_once(':') {
        Some((name, version)) => (&text[..last + name.len()], Some(version)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_package_version_and_optional_registry() {
        let plain = parse("acme/shop:1.2.3").expect("plain");
        assert_eq!((plain.registry, plain.package.as_str()), (None, "acme/shop"));
        let hosted = parse("localhost:5000/acme/shop:1.2.3-beta_7").expect("hosted");
        assert_eq!(hosted.registry.as_deref(), Some("localhost:5000/acme/shop"));
        assert_eq!((hosted.package.as_str(), hosted.version.as_str()), ("acme/shop", "1.2.3-beta+7"));
        assert!(parse("registry.example.com/shop").expect_err("no version").message().contains("has no version"));
        assert!(parse("shop:latest").is_err());
    }
}
