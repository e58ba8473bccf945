//! `cargo xtask deps`: checks licences and duplicate versions of all dependencies against
//! `deny.toml`, and security advisories where possible.
//!
//! Licences and duplicates need no other program: `cargo deny` takes longer to build than this
//! project. Advisories are checked if `cargo deny` is installed and can fetch its database. Reads
//! `deny.toml` line by line: our lists have one entry per line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail};

use crate::shell;

pub fn run() -> Result<()> {
    let rules = fs::read_to_string(shell::root().join("deny.toml")).context("could not read deny.toml")?;
    let allowed = quoted(&rules, "allow = [");
    let skipped = quoted(&rules, "skip = [");
    let mut packages = BTreeSet::new();
    for target in quoted(&rules, "targets = [") {
        let tree = ["tree", "--locked", "--workspace", "--target", &target, "-e", "normal,build,dev"];
        let form = ["--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"];
        let listed = shell::read(&mut shell::cargo(&[&tree[..], &form].concat()))?;
        packages.extend(listed.lines().filter_map(Package::parse));
    }
    let mut findings = licences(&packages, &allowed);
    findings.extend(duplicates(&packages, &skipped));
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings; deny.toml has the rules", findings.len());
    }
    eprintln!("{} packages with allowed licences and no unknown duplicates", packages.len());
    advisories()
}

fn advisories() -> Result<()> {
    let deny = |args: &[&str]| shell::cargo(&[&["deny"], args].concat());
    if !shell::succeeds(&mut deny(&["--version"])) {
        eprintln!("advisories not checked: `cargo install cargo-deny --locked` adds the check");
        return Ok(());
    }
    if !shell::succeeds(&mut deny(&["fetch", "db"])) {
        eprintln!("advisories not checked: could not fetch their database");
        return Ok(());
    }
    shell::run(&mut deny(&["check", "advisories"]))
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
}

impl Package {
    /// Parses `name v1.2.3 (proc-macro)|MIT`. Returns nothing for empty lines.
    fn parse(line: &str) -> Option<Self> {
        let (package, licence) = line.split_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned());
        Some(Self { name, version, licence: licence.to_owned() })
    }
}

fn licences(packages: &BTreeSet<Package>, allowed: &[String]) -> Vec<String> {
    let refused = packages.iter().filter(|package| !permits(&package.licence, allowed));
    refused
        .map(|package| {
            format!("{} {}: the licence `{}` is not allowed", package.name, package.version, package.licence)
        })
        .collect()
}

/// Whether an SPDX expression can be fulfilled with the allowed licences. `OR` binds weaker than
/// `AND`; `/` is the old spelling of `OR`.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any(&words, &mut at, allowed) && at == words.len()
}

fn any(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut permitted = all(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        permitted |= all(words, at, allowed);
    }
    permitted
}

fn all(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut permitted = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        permitted &= one(words, at, allowed);
    }
    permitted
}

fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let permitted = any(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return permitted && closed;
    }
    let mut licence = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        licence = format!("{licence} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    allowed.contains(&licence)
}

/// Packages in more versions than one, unless all but one of them are skipped. A skipped version
/// that is not used any more is reported too.
fn duplicates(packages: &BTreeSet<Package>, skipped: &[String]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let is_skipped = |name: &str, version: &str| skipped.iter().any(|entry| matches(entry, name, version));
    let mut findings: Vec<String> = versions
        .iter()
        .filter(|(name, versions)| versions.iter().filter(|version| !is_skipped(name, version)).count() > 1)
        .map(|(name, versions)| {
            let versions: Vec<&str> = versions.iter().copied().collect();
            format!("{name} is used in versions {}: `cargo tree -i {name}@VERSION` shows why", versions.join(" and "))
        })
        .collect();
    for entry in skipped {
        let twice = packages.iter().any(|package| {
            matches(entry, &package.name, &package.version) && versions[package.name.as_str()].len() > 1
        });
        if !twice {
            findings.push(format!("{entry} is not a duplicate any more: remove it from `skip`"));
        }
    }
    findings
}

/// Whether `name@1.2` names the version `1.2.3`.
fn matches(entry: &str, name: &str, version: &str) -> bool {
    let Some((entry_name, prefix)) = entry.split_once('@') else { return false };
    entry_name == name && version.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the first quoted text of each entry of a list.
fn quoted(rules: &str, list: &str) -> Vec<String> {
    let mut lines = rules.lines().skip_while(|line| !line.starts_with(list));
    let Some(first) = lines.next() else { return Vec::new() };
    if first.contains(']') {
        return first.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    }
    let entries = lines.take_while(|line| !line.starts_with(']'));
    entries.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn packages(lines: &[&str]) -> BTreeSet<Package> {
        lines.iter().filter_map(|line| Package::parse(line)).collect()
    }

    #[test]
    fn evaluates_licence_expressions() {
        let allowed = texts(&["MIT", "Apache-2.0 WITH LLVM-exception", "ISC"]);
        for permitted in [
            "MIT",
            "GPL-3.0 OR MIT",
            "Unlicense/MIT",
            "MIT AND ISC",
            "(MIT OR GPL-3.0) AND ISC",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert!(permits(permitted, &allowed), "{permitted}");
        }
        for refused in ["", "GPL-3.0", "Apache-2.0", "MIT AND GPL-3.0", "GPL-3.0 AND (MIT OR ISC)", "MIT ISC", "(MIT"] {
            assert!(!permits(refused, &allowed), "{refused}");
        }
    }

    #[test]
    fn finds_duplicates_and_stale_exceptions() {
        let found = packages(&["a v1.0.0|MIT", "a v2.0.0|MIT", "b v0.1.2|MIT", "b v0.2.0|MIT", "", "c v1.0.0|MIT"]);
        let findings = duplicates(&found, &texts(&["b@0.1", "c@1"]));
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("a is used in versions 1.0.0 and 2.0.0"));
        assert!(findings[1].starts_with("c@1 is not a duplicate"));
    }

    #[test]
    fn reads_lists_of_rules() {
        let rules = "targets = [\"x\", \"y\"]\nallow = [\n    \"MIT\",\n]\nskip = [\n    { crate = \"a@1\", reason = \"r\" },\n]\n";
        assert_eq!(quoted(rules, "targets = ["), ["x", "y"]);
        assert_eq!(quoted(rules, "allow = ["), ["MIT"]);
        assert_eq!(quoted(rules, "skip = ["), ["a@1"]);
    }
}
