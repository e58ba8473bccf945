//! Names chosen by users, validated once, on construction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::kind::UnitKind;
use crate::route_path::without_variables;

/// An invalid name, with the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a valid {what} name: {rule}")]
pub struct NameError {
    pub what: &'static str,
    pub name: String,
    pub rule: &'static str,
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident, $what:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String)]
        pub struct $type(String);

        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                match $check(text) {
                    Ok(()) => Ok(Self(text.to_owned())),
                    Err(rule) => Err(NameError { what: $what, name: shorten(text), rule }),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

name_type!(
    /// An app name. It is a DNS label, since it is the first part of the app's address, and short
    /// enough that `{release}--{app}` fits into one label of 63 characters.
    AppName, "app", check_app
);

/// The app that a request means if it names none. Every server has it.
pub const DEFAULT_APP: &str = "default";

impl Default for AppName {
    fn default() -> Self {
        Self(DEFAULT_APP.to_owned())
    }
}

name_type!(
    /// The name of a unit. The allowed characters depend on the kind: see [`UnitName::for_kind`].
    UnitName, "unit", check_any_unit
);
name_type!(
    /// A pointer to a function version, written `@name` in a selector.
    AliasName, "alias", check_alias
);
name_type!(
    /// A tag of a release. It is a DNS label, since it is part of the release's address.
    TagName, "tag", check_tag
);
name_type!(
    /// A user-defined name of a version.
    Label, "version", check_label
);
name_type!(
    /// A group of versions (seed 002, use case 12).
    GroupName, "group", check_ident
);

/// Words with a special meaning wherever a name is expected.
pub const RESERVED: [&str; 3] = ["latest", "live", "all"];

const APP_RULE: &str =
    "use 1 to 40 lowercase letters, digits and single hyphens, starting and ending with a letter or digit";
const TAG_RULE: &str = "use 1 to 40 lowercase letters, digits and single hyphens, starting and ending with a letter or digit, since it becomes a part of a host name";
const IDENT_RULE: &str = "use 1 to 63 letters, digits, `-`, `_` and `.`, starting with a letter, digit or `_`";
const RESERVED_RULE: &str = "`latest`, `live` and `all` are reserved";

impl UnitName {
    /// Parses a name for one kind. Static items may be named by the path they are served at, and
    /// routes by method and path, which read better in a plan than an invented name. The config has
    /// a fixed name, since an app has only one.
    pub fn for_kind(kind: UnitKind, text: &str) -> Result<Self, NameError> {
        let rule = match kind {
            UnitKind::Static if text.starts_with('/') => check_path(text),
            UnitKind::Static => {
                check_ident(text).map_err(|_| "a static item is named by its path, which starts with `/`")
            }
            UnitKind::Route if text.contains('/') => check_route(text),
            UnitKind::Route => {
                check_ident(text).map_err(|_| "write a method and a path that starts with `/`, like `GET /hello`")
            }
            UnitKind::Config if text != "config" => Err("the configuration is one document; its name is `config`"),
            _ => check_ident(text),
        };
        rule.map(|()| Self(text.to_owned())).map_err(|rule| NameError {
            what: kind.as_str(),
            name: shorten(text),
            rule,
        })
    }

    pub fn config() -> Self {
        Self("config".to_owned())
    }
}

impl Label {
    /// Whether both labels are dotted version numbers and this one is lower.
    pub fn precedes(&self, other: &Self) -> bool {
        match (numbers(&self.0), numbers(&other.0)) {
            (Some(ours), Some(theirs)) => ours < theirs,
            _ => false,
        }
    }
}

/// Parses `v1.0.2` into numbers; anything after a `-` or `+` is ignored.
fn numbers(label: &str) -> Option<Vec<u64>> {
    let plain = label.strip_prefix(['v', 'V']).unwrap_or(label);
    let release = plain.split(['-', '+']).next().unwrap_or(plain);
    release.split('.').map(|part| part.parse().ok()).collect()
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 80 { text.to_owned() } else { text.chars().take(77).chain("...".chars()).collect() }
}

fn is_dns_label(text: &str, max: usize) -> bool {
    !text.is_empty()
        && text.len() <= max
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
        // A double hyphen separates release and app in the one-label form of an address.
        && !text.contains("--")
}

fn check_app(text: &str) -> Result<(), &'static str> {
    if !is_dns_label(text, 40) {
        return Err(APP_RULE);
    }
    if RESERVED.contains(&text) { Err(RESERVED_RULE) } else { Ok(()) }
}

fn check_tag(text: &str) -> Result<(), &'static str> {
    if !is_dns_label(text, 40) {
        return Err(TAG_RULE);
    }
    if RESERVED.contains(&text) { Err(RESERVED_RULE) } else { Ok(()) }
}

fn check_ident(text: &str) -> Result<(), &'static str> {
    let starts_well = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_');
    let rest_fits = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if starts_well && rest_fits && text.len() <= 63 { Ok(()) } else { Err(IDENT_RULE) }
}

fn check_alias(text: &str) -> Result<(), &'static str> {
    check_ident(text)?;
    if RESERVED.contains(&text) { Err(RESERVED_RULE) } else { Ok(()) }
}

fn check_label(text: &str) -> Result<(), &'static str> {
    let fits = !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+'))
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if !fits {
        return Err("use 1 to 63 letters, digits, `-`, `_`, `.` and `+`, starting with a letter or digit");
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a name of digits alone would read as a version number; write for example `v1`");
    }
    if RESERVED.contains(&text) { Err(RESERVED_RULE) } else { Ok(()) }
}

fn check_path(text: &str) -> Result<(), &'static str> {
    check_path_of(text, text)
}

/// `plain` is the part of the path outside of patterns.
fn check_path_of(text: &str, plain: &str) -> Result<(), &'static str> {
    let fits = text.starts_with('/')
        && text.len() <= 255
        && !text.chars().any(char::is_control)
        && !plain.contains(['?', '#', '\\'])
        && !text.split('/').any(|part| part == "." || part == "..");
    if fits {
        Ok(())
    } else {
        Err("a path starts with `/`, has at most 255 characters, and no `.`, `..`, `?`, `#` or backslash")
    }
}

fn check_route(text: &str) -> Result<(), &'static str> {
    let (methods, path) = text.split_once(' ').unwrap_or(("", text));
    let methods_fit =
        methods.split(',').all(|method| method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'*'));
    if methods_fit && path.starts_with('/') {
        check_path_of(path, &without_variables(path))
    } else {
        Err("write a method and a path, like `GET /hello`")
    }
}

/// Accepts a name by the widest rule, for reading names that were validated for their kind on
/// creation.
fn check_any_unit(text: &str) -> Result<(), &'static str> {
    check_ident(text).or_else(|rule| check_path(text).or_else(|_| check_route(text)).map_err(|_| rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn app_names_are_short_dns_labels() {
        for good in ["shop", "a", "my-shop-2", "0day"] {
            assert!(good.parse::<AppName>().is_ok(), "{good}");
        }
        for bad in ["", "Shop", "a--b", "-a", "a-", "a.b", "live", "ümlaut", "a b", &"x".repeat(41)] {
            assert!(bad.parse::<AppName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn route_patterns_may_contain_characters_that_paths_may_not() {
        for good in [r"GET /a/{id:\d+}", r"GET /{y:\d{4}(?:-\d\d)?}", r"* /a/{b:x?}/{c:[#?]}", "GET /a", "/a/{b}"] {
            assert!(UnitName::for_kind(UnitKind::Route, good).is_ok(), "{good}");
        }
        for bad in [
            r"GET /a\d",
            r"GET /{y:\d{4}}?",
            "GET /a{?b",
            "GET /a?b={c}",
            "GET /{a}#b",
            "GET /{a:\u{7}}",
            "GET /{a}/../b",
        ] {
            assert!(UnitName::for_kind(UnitKind::Route, bad).is_err(), "{bad}");
        }
        assert!(UnitName::for_kind(UnitKind::Static, r"/a/{id:\d+}").is_err());
    }

    #[test]
    fn labels_are_never_numbers_or_reserved() {
        for good in ["v1.0.1", "1.0.1", "V3", "2024-01-01", "v1+build"] {
            assert!(good.parse::<Label>().is_ok(), "{good}");
        }
        for bad in ["1", "0042", "latest", "live", "all", "", "v 1", "@v1"] {
            assert!(bad.parse::<Label>().is_err(), "{bad}");
        }
    }

    #[test]
    fn unit_names_depend_on_the_kind() {
        assert!(UnitName::for_kind(UnitKind::Function, "fnA").is_ok());
        assert!(UnitName::for_kind(UnitKind::Secret, "DATABASE_URL").is_ok());
        assert!(UnitName::for_kind(UnitKind::Static, "/static/js").is_ok());
        assert!(UnitName::for_kind(UnitKind::Static, "/a/../b").is_err());
        assert!(UnitName::for_kind(UnitKind::Route, "GET,POST /orders/{id}").is_ok());
        assert!(UnitName::for_kind(UnitKind::Route, "d2aa2980-71d5-40b4-a490-4969646cbf7f").is_ok());
        assert!(UnitName::for_kind(UnitKind::Function, "/etc/passwd").is_err());
        assert!(UnitName::for_kind(UnitKind::Config, "other").is_err());
    }
}
