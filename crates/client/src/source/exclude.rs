//! Exclude patterns, with git's syntax: without a slash they match a name at any depth, with one
//! they start at the root of the source. Seed 000 writes `public/video/x.mp4` for the source
//! `build/public`, so a pattern that starts with the source folder's own name also starts at the
//! root.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::SourceError;

/// Directories with the history or the state of a tool, which are never deployed. Also the ignore
/// file, which describes the files and is not one of them.
const NEVER: [&str; 3] = [".git", ".milepost", super::ignored::OWN_FILE];

pub(super) struct Exclude {
    anything: GlobSet,
    folders: GlobSet,
    keep_hidden: bool,
}

impl Exclude {
    /// `own_name` is the name of the source folder; a zip has none.
    pub(super) fn new(patterns: &[String], own_name: Option<&str>, keep_hidden: bool) -> Result<Self, SourceError> {
        let mut anything = GlobSetBuilder::new();
        let mut folders = GlobSetBuilder::new();
        for pattern in patterns {
            let wrong = |reason: String| SourceError::Pattern { list: "exclude", pattern: pattern.clone(), reason };
            for text in readings(pattern, own_name).map_err(|reason| wrong(reason.to_owned()))? {
                let glob = GlobBuilder::new(&text)
                    .literal_separator(true)
                    .build()
                    .map_err(|error| wrong(error.kind().to_string()))?;
                if pattern.ends_with('/') {
                    folders.add(glob)
                } else {
                    anything.add(glob)
                };
            }
        }
        let build = |set: GlobSetBuilder| {
            let wrong = |error: globset::Error| SourceError::Pattern {
                list: "exclude",
                pattern: patterns.join("`, `"),
                reason: error.kind().to_string(),
            };
            set.build().map_err(wrong)
        };
        Ok(Self { anything: build(anything)?, folders: build(folders)?, keep_hidden })
    }

    /// Whether a path is taken, provided that its parent directories are.
    pub(super) fn takes(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let hidden = !self.keep_hidden && name.starts_with('.');
        !hidden
            && !NEVER.contains(&name)
            && (self.anything.is_empty() || !self.anything.is_match(path))
            && (!is_folder || self.folders.is_empty() || !self.folders.is_match(path))
    }

    /// Whether a path and all its parents are taken, for archives, which are not walked directory
    /// by directory.
    pub(super) fn takes_below(&self, path: &str) -> bool {
        path.match_indices('/').all(|(at, _)| self.takes(&path[..at], true)) && self.takes(path, false)
    }
}

/// Translates a pattern to globs over paths relative to the source.
fn readings(pattern: &str, own_name: Option<&str>) -> Result<Vec<String>, &'static str> {
    if pattern.starts_with('!') {
        return Err("`!` is not known here; list only what is left out, or write `\\!` for a name that begins with it");
    }
    let body = pattern.strip_suffix('/').unwrap_or(pattern);
    let body = body.strip_prefix("./").unwrap_or(body);
    if body.is_empty() {
        return Err("it names nothing; write a name or a path");
    }
    if let Some(rooted) = body.strip_prefix('/') {
        return Ok(vec![rooted.to_owned()]);
    }
    if !body.contains('/') {
        return Ok(vec![format!("**/{body}")]);
    }
    let below_own_name = own_name.and_then(|name| body.strip_prefix(name)?.strip_prefix('/')).map(str::to_owned);
    Ok(std::iter::once(body.to_owned()).chain(below_own_name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], left_out: &[&str], taken: &[&str]) {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let exclude = Exclude::new(&patterns, Some("public"), true).expect("patterns are well formed");
        for path in left_out {
            assert!(!exclude.takes_below(path), "{patterns:?} takes {path}");
        }
        for path in taken {
            assert!(exclude.takes_below(path), "{patterns:?} leaves out {path}");
        }
    }

    #[test]
    fn patterns_start_at_the_source_or_at_its_own_name() {
        check(&["public/video/big.mp4"], &["video/big.mp4", "public/video/big.mp4"], &["video/small.mp4", "big.mp4"]);
        check(&["video/*.mp4"], &["video/big.mp4"], &["video/deep/big.mp4", "a/video/big.mp4"]);
        check(&["./video/**"], &["video/deep/big.mp4"], &["a/video/big.mp4"]);
    }

    #[test]
    fn bare_names_match_at_any_depth_with_their_files() {
        check(&["*.pyc"], &["a.pyc", "deep/er/b.pyc"], &["a.py"]);
        check(&["node_modules"], &["node_modules/x.js", "a/node_modules/b/c.js"], &["my_node_modules/x.js"]);
        check(&["/node_modules"], &["node_modules/x.js"], &["a/node_modules/b/c.js"]);
    }

    #[test]
    fn a_trailing_slash_matches_folders_only() {
        check(&["cache/"], &["cache/x", "a/cache/x"], &["cache", "a/cache"]);
    }

    #[test]
    fn history_and_state_are_never_taken() {
        check(&[], &[".git/config", "sub/.git", ".milepost/x"], &[".gitignore", ".env"]);
        let plain = Exclude::new(&[], None, false).expect("no patterns");
        assert!(!plain.takes_below(".env") && !plain.takes_below("a/.b/c") && plain.takes_below("a/b.c"));
    }

    #[test]
    fn errors_name_the_invalid_pattern() {
        for broken in ["[a", "!keep", "/", "", "a{b"] {
            let error = Exclude::new(&[broken.to_owned()], None, true).err().expect("refused").to_string();
            assert!(error.contains(&format!("`{broken}`")), "{error}");
        }
    }
}
