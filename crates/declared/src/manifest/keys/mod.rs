//! The keys of `milepost.yaml`, in one table for everything that lists them: the reader's errors
//! about unknown keys, the page `docs/reference/manifest.md` and the JSON schema for editors.

mod app;
mod code;
pub mod schema;
mod serving;
#[cfg(test)]
pub mod tests;

pub use app::{DEPLOYMENT, DEPLOYMENT_KEYS, MANIFEST, MANIFEST_KEYS};
pub use code::{ENVIRONMENT, ENVIRONMENT_KEYS, FUNCTION, FUNCTION_KEYS, PACKAGE, PACKAGE_KEYS, SCALE, SCALE_KEYS};
pub use serving::{ROUTE, ROUTE_KEYS, STATIC, STATIC_KEYS, TIMER, TIMER_KEYS, WHOLE_ROUTE, WHOLE_ROUTE_KEYS};

/// All maps with known keys, in the order of the page.
pub static TABLES: [&Table; 10] =
    [&MANIFEST, &DEPLOYMENT, &ENVIRONMENT, &PACKAGE, &FUNCTION, &SCALE, &STATIC, &ROUTE, &WHOLE_ROUTE, &TIMER];

/// A map with known keys.
#[derive(Debug)]
pub struct Table {
    /// The heading on the page, such as `functions`.
    pub title: &'static str,
    pub about: &'static str,
    pub keys: &'static [KeySpec],
    pub rules: &'static [Rule],
    /// A complete manifest that shows the keys.
    pub example: &'static str,
}

/// One known key.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    pub name: &'static str,
    pub form: Form,
    /// What applies without the key, in Markdown. Empty if that is nothing.
    pub default: &'static str,
    /// What the key does, in one line.
    pub about: &'static str,
    /// When to use it.
    pub purpose: &'static str,
}

/// The values that a key accepts.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A string. Numbers and booleans are read as they are written.
    Text,
    /// A string that matches a regular expression.
    Pattern(&'static str),
    AppName,
    Choice(&'static [&'static str]),
    Flag,
    Count,
    Memory,
    Duration,
    /// A path that starts with `/`.
    UrlPath,
    /// One string or a list of them.
    Texts,
    /// A map of user-defined names to strings.
    Values,
    /// A map of any content.
    Free,
    /// A map with known keys.
    One(&'static Table),
    /// A string, or a map with known keys.
    TextOr(&'static Table),
    /// A map of user-defined names to such maps.
    Map(&'static Table),
    /// The same, where the value of one key can stand for the map.
    ShortMap(&'static Table, &'static KeySpec),
    List(&'static Table),
    /// A list of routes: `METHODS PATH` with a function or the keys of a route, or the whole route
    /// as a map.
    Routes(&'static Table, &'static Table),
}

/// How keys of one map depend on each other.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    Required(&'static str),
    OneOf(&'static str, &'static str),
    NotBoth(&'static str, &'static str),
    /// The first key needs the second.
    Needs(&'static str, &'static str),
}

impl Table {
    pub fn is_required(&self, key: &str) -> bool {
        self.rules.iter().any(|rule| matches!(rule, Rule::Required(required) if *required == key))
    }
}

/// The names of keys, as [`crate::yaml::Fields`] takes them.
pub const fn names<const N: usize>(keys: &[KeySpec; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = keys[at].name;
        at += 1;
    }
    names
}
