//! Include patterns. A pattern starts at the root of the source; `*` and `?` match within one name,
//! `**` matches any number of directories, and a matched directory is taken as a whole.
//!
//! A pattern that matches nothing is a mistake (a renamed folder, a misspelled file), so each one
//! records whether it matched.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use globset::{GlobBuilder, GlobMatcher};

use super::error::SourceError;

/// Without patterns, everything is taken.
pub(super) struct Include {
    patterns: Vec<Pattern>,
    unmatched: AtomicUsize,
}

struct Pattern {
    text: String,
    parts: Vec<Part>,
    /// The pattern ends with `/`, like `hello/`, and does not match a file of that name.
    folders_only: bool,
    matched: AtomicBool,
    /// A path that it would have matched, had an ignore file not left it out.
    ignored: Mutex<Option<String>>,
}

enum Part {
    /// `**`
    Any,
    Name(String),
    Glob(GlobMatcher),
}

/// How a path matches a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// A directory in which something may match.
    Within,
    Whole,
}

/// A pattern that matched nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    pub pattern: String,
    /// A path that an ignore file left out and that the pattern would have matched.
    pub ignored: Option<String>,
}

impl Include {
    pub(super) fn new(patterns: &[String]) -> Result<Self, SourceError> {
        let patterns = patterns.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>, _>>()?;
        let unmatched = AtomicUsize::new(patterns.len());
        Ok(Self { patterns, unmatched })
    }

    pub(super) fn takes_everything(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The best match of any pattern.
    pub(super) fn fit(&self, path: &str, is_folder: bool) -> Fit {
        if self.takes_everything() {
            return Fit::Whole;
        }
        self.patterns.iter().map(|pattern| pattern.fit(path, is_folder)).max().unwrap_or(Fit::No)
    }

    /// Whether a pattern without wildcards is exactly this path.
    pub(super) fn names(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.plain().is_some_and(|mut parts| parts.by_ref().eq(path.split('/'))))
    }

    /// Whether a pattern without wildcards names a path below this directory.
    pub(super) fn names_below(&self, folder: &str) -> bool {
        let below = |mut parts: Box<dyn Iterator<Item = &str> + '_>| {
            folder.split('/').all(|name| parts.next() == Some(name)) && parts.next().is_some()
        };
        self.patterns.iter().any(|pattern| pattern.plain().is_some_and(below))
    }

    /// Records that a path was taken, for all patterns that match it.
    pub(super) fn took(&self, path: &str, is_folder: bool) {
        if self.all_matched() {
            return;
        }
        for pattern in self.patterns.iter().filter(|pattern| pattern.fit(path, is_folder) == Fit::Whole) {
            if !pattern.matched.swap(true, Ordering::Relaxed) {
                self.unmatched.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Records that an ignore file left out a path, for patterns that match it or could match below
    /// it.
    pub(super) fn ignored(&self, path: &str, is_folder: bool) {
        if self.all_matched() {
            return;
        }
        for pattern in self.patterns.iter().filter(|pattern| pattern.fit(path, is_folder) != Fit::No) {
            let mut example = pattern.ignored.lock().unwrap_or_else(PoisonError::into_inner);
            if example.as_deref().is_none_or(|known| path < known) {
                *example = Some(path.to_owned());
            }
        }
    }

    pub(super) fn all_matched(&self) -> bool {
        self.unmatched.load(Ordering::Relaxed) == 0
    }

    pub(super) fn unmatched(&self) -> Vec<Unmatched> {
        let unmatched = self.patterns.iter().filter(|pattern| !pattern.matched.load(Ordering::Relaxed));
        let report = |pattern: &Pattern| Unmatched {
            pattern: pattern.text.clone(),
            ignored: pattern.ignored.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        unmatched.map(report).collect()
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, SourceError> {
        let wrong = |reason: &str| SourceError::Pattern {
            list: "include",
            pattern: text.to_owned(),
            reason: reason.to_owned(),
        };
        if text.starts_with('!') {
            return Err(wrong("`!` is not supported here; use `exclude` to leave files out"));
        }
        let body = text.strip_prefix("./").unwrap_or(text);
        let body = body.strip_prefix('/').unwrap_or(body);
        let folders_only = body.is_empty() || body.ends_with('/');
        let mut parts = Vec::new();
        for part in body.trim_end_matches('/').split('/').filter(|part| !part.is_empty() && *part != ".") {
            let part = match part {
                ".." => return Err(wrong("it leaves the folder; let the folder begin further up")),
                "**" if matches!(parts.last(), Some(Part::Any)) => continue,
                "**" => Part::Any,
                name if is_plain(name) => Part::Name(name.to_owned()),
                glob => {
                    let glob = GlobBuilder::new(glob).literal_separator(true).build();
                    Part::Glob(glob.map_err(|error| wrong(&error.kind().to_string()))?.compile_matcher())
                }
            };
            parts.push(part);
        }
        if text.is_empty() {
            return Err(wrong("it names nothing; write a name or a path"));
        }
        if parts.is_empty() {
            parts.push(Part::Any);
        }
        let (matched, ignored) = (AtomicBool::new(false), Mutex::new(None));
        Ok(Self { text: text.to_owned(), parts, folders_only, matched, ignored })
    }

    fn fit(&self, path: &str, is_folder: bool) -> Fit {
        let path: Vec<&str> = path.split('/').collect();
        match fit(&self.parts, &path) {
            (Fit::Whole, true) if self.folders_only && !is_folder => Fit::No,
            (Fit::Within, _) if !is_folder => Fit::No,
            (fit, _) => fit,
        }
    }

    /// The names in the pattern, if it has no wildcards.
    fn plain(&self) -> Option<Box<dyn Iterator<Item = &str> + '_>> {
        let plain = self.parts.iter().all(|part| matches!(part, Part::Name(_)));
        let names = self.parts.iter().filter_map(|part| match part {
            Part::Name(name) => Some(name.as_str()),
            _ => None,
        });
        plain.then_some(Box::new(names))
    }
}

/// How the path matches, and whether it ended with the pattern's own last name rather than below
/// it.
fn fit(parts: &[Part], path: &[&str]) -> (Fit, bool) {
    match (parts, path) {
        ([], []) => (Fit::Whole, true),
        ([], _) | ([Part::Any], [_, ..]) => (Fit::Whole, false),
        (_, []) => (Fit::Within, false),
        ([Part::Any, rest @ ..], [_, below @ ..]) => fit(rest, path).max(fit(parts, below)),
        ([part, rest @ ..], [name, below @ ..]) => {
            let fits = match part {
                Part::Name(part) => part == name,
                Part::Glob(glob) => glob.is_match(name),
                Part::Any => true,
            };
            if fits { fit(rest, below) } else { (Fit::No, false) }
        }
    }
}

/// Whether a text has no wildcards.
pub fn is_plain(text: &str) -> bool {
    !text.contains(['*', '?', '[', '{', '\\'])
}

/// Whether one name matches one part of a pattern, between two slashes. An invalid part matches
/// nothing.
pub fn fits(part: &str, name: &str) -> bool {
    GlobBuilder::new(part).literal_separator(true).build().is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, takes: &[&str], leaves: &[&str]) {
        let include = Include::new(&[pattern.to_owned()]).expect("a pattern");
        for path in takes {
            assert_eq!(include.fit(path, false), Fit::Whole, "`{pattern}` leaves `{path}`");
        }
        for path in leaves {
            assert_eq!(include.fit(path, false), Fit::No, "`{pattern}` takes `{path}`");
        }
    }

    #[test]
    fn patterns_match_as_documented() {
        check("hello/*.py", &["hello/a.py", "hello/.py"], &["a.py", "hello/deep/a.py", "other/a.py", "hello/a.pyc"]);
        check("*.py", &["a.py"], &["hello/a.py"]);
        check("**/*.py", &["a.py", "x/a.py", "x/y/z/a.py"], &["a.js"]);
        check("src/**", &["src/a", "src/b/c"], &["src", "other/src/a"]);
        check("src/**/*.py", &["src/a.py", "src/b/a.py", "src/b/c/a.py"], &["a.py", "src/a.js"]);
        check("**/test/**/x", &["test/x", "a/test/x", "a/test/b/x"], &["x", "test/y"]);
        check("**/**/**/x", &["x", "a/b/x"], &["y"]);
        check("a/**/b/**/c", &["a/b/c", "a/x/b/y/c"], &["a/c", "b/c"]);
        check("hello/requirements.txt", &["hello/requirements.txt"], &["requirements.txt"]);
        check("./a.py", &["a.py"], &["b.py"]);
        check("/a.py", &["a.py"], &["x/a.py"]);
        check(".", &["a", "a/b"], &[]);
        check("./", &["a", "a/b"], &[]);
        check("*", &["a", "a/b/c", ".env"], &[]);
        check("a?c", &["abc"], &["ac", "a/c"]);
        check("[ab].py", &["a.py", "b.py"], &["c.py"]);
        check("[!ab].py", &["c.py"], &["a.py"]);
        check("*.{py,sh}", &["a.py", "b.sh"], &["c.js"]);
        check("\\*.py", &["*.py"], &["a.py"]);
        check("ü*/日.txt", &["über/日.txt"], &["uber/日.txt"]);
    }

    #[test]
    fn matched_folders_are_taken_whole() {
        check("hello", &["hello", "hello/a", "hello/b/c"], &["hello2/a", "x/hello/a"]);
        check("src/*", &["src/a", "src/b/c/d"], &["other/a"]);
        check("hello/", &["hello/a", "hello/b/c"], &["hello"]);
        check("*/lib/", &["a/lib/x"], &["lib/x", "a/lib"]);
    }

    #[test]
    fn folders_without_possible_matches_are_not_entered() {
        let include = Include::new(&["a/b/*.py".to_owned(), "c/**/x".to_owned()]).expect("patterns");
        for folder in ["a", "a/b", "c", "c/d/e"] {
            assert_eq!(include.fit(folder, true), Fit::Within, "{folder}");
        }
        for folder in ["b", "a/c", "a/b/c", "node_modules"] {
            assert_eq!(include.fit(folder, true), Fit::No, "{folder}");
        }
    }

    #[test]
    fn plain_patterns_name_exact_paths() {
        let include = Include::new(&["dist/app.js".to_owned(), "lib/*.js".to_owned()]).expect("patterns");
        assert!(include.names("dist/app.js") && include.names_below("dist"));
        assert!(!include.names("lib/a.js") && !include.names_below("lib") && !include.names_below("dist/app.js"));
        assert!(!include.names("dist") && !include.names("dist/app.js/x"));
    }

    #[test]
    fn errors_name_the_invalid_pattern() {
        for broken in ["[a", "!keep", "", "a{b", "../up", "a/../b"] {
            let error = Include::new(&[broken.to_owned()]).err().expect("refused").to_string();
            assert!(error.contains(&format!("`{broken}`")), "{error}");
        }
    }
}
