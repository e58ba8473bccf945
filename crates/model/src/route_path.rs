//! The grammar of route paths, shared by the code that stores routes and the code that serves them.

mod anchors;
mod overlap;

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use regex_lite::{Regex, RegexBuilder};

use anchors::{Anchor, inner_anchors, unanchored};
pub use overlap::{Answered, Overlaps};

/// Maximum size of a compiled regular expression.
const REGEX_BYTES: usize = 256 << 10;

const VARIES: &str = "write a part that varies like `/orders/{id}` or `/orders/{id:[0-9]+}`";
pub(crate) const BELOW: &str = "a route with `prefix` set takes all that is below its path; a star as such is `%2A`";

/// How the path of a route is matched.
#[derive(Debug)]
pub enum RoutePattern {
    /// Segment by segment.
    Segments { segments: Vec<Segment>, trailing_slash: bool },
    /// Matched as a whole, since a variable has a regular expression or shares its segment with
    /// other text.
    Regex(Regex),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Percent-decoded.
    Literal(Box<str>),
    Param,
}

/// Why a path cannot be used for matching requests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RoutePathError {
    /// Continues a message that ends with the path and `cannot be used: `.
    pub reason: String,
    pub hint: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece<'p> {
    Text(&'p str),
    Param(&'p str),
    Matching(&'p str, &'p str),
}

impl RoutePattern {
    /// Parses a path. A path that parses can be served.
    pub fn parse(path: &str, prefix: bool) -> Result<Self, RoutePathError> {
        if !path.starts_with('/') {
            let reason = "it must start with `/`".to_owned();
            return Err(RoutePathError { reason, hint: "write it like `/orders/{id}`" });
        }
        let pieces = pieces(path)?;
        if let Some((segments, trailing_slash)) = segments(&pieces) {
            return Ok(Self::Segments { segments, trailing_slash });
        }
        // Compiles each expression alone first: an unbalanced closing bracket could happen to fit
        // into the whole.
        for piece in &pieces {
            if let Piece::Matching(_, source) = piece {
                regex(source)?;
            }
        }
        regex(&regex_source(&pieces, prefix)).map(Self::Regex)
    }
}

fn regex(source: &str) -> Result<Regex, RoutePathError> {
    RegexBuilder::new(source).size_limit(REGEX_BYTES).build().map_err(|error| RoutePathError {
        reason: format!("invalid regular expression: {error}"),
        hint: "fix the regular expression after the `:`, or remove it",
    })
}

/// The names of the variables of a path that compiled, in order.
pub fn variable_names(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let (open, close) = next_variable(rest)?;
        let inner = &rest[open + 1..close];
        rest = &rest[close + 1..];
        Some(inner.split_once(':').map_or(inner, |(name, _)| name))
    })
}

/// Returns why a path that parses is still a mistake of its author.
pub(crate) fn mistake(path: &str, prefix: bool) -> Option<RoutePathError> {
    let mut known = BTreeSet::new();
    // Functions receive variables as headers, whose names are case-insensitive.
    if let Some(name) = variable_names(path).find(|name| !known.insert(name.to_lowercase())) {
        let reason = format!("the variable `{name}` occurs twice");
        return Some(RoutePathError { reason, hint: "give each variable a name of its own" });
    }
    let pieces = pieces(path).ok()?;
    let is_last = |at: usize| at + 1 == pieces.len() && !prefix;
    let in_vain = |(at, piece): (usize, &Piece<'_>)| match piece {
        // The end of the last variable is the end of the path.
        Piece::Matching(_, regex) => inner_anchors(regex).any(|anchor| anchor == Anchor::Start || !is_last(at)),
        _ => false,
    };
    pieces.iter().enumerate().any(in_vain).then(|| RoutePathError {
        reason: "a regular expression has `^` or `$` where no request can fulfil it".to_owned(),
        hint: "leave them out: it is compared with all that the variable holds; write choices like `a|b`",
    })
}

/// A path without the names of its variables. Two routes with the same shape match the same paths:
/// names do not distinguish them, the expressions of the variables do.
pub fn shape(path: &str) -> String {
    let mut shape = String::new();
    let mut rest = path;
    while let Some((open, close)) = next_variable(rest) {
        let pattern = rest[open + 1..close].split_once(':').map_or("", |(_, pattern)| pattern);
        shape.extend([&rest[..open], "{", unanchored(pattern), "}"]);
        rest = &rest[close + 1..];
    }
    shape + rest
}

/// The name of the regex group that captures the variable at `at`. The user's own groups keep their
/// names.
pub fn variable_group(at: usize) -> String {
    format!("milepost{at}")
}

fn pieces(path: &str) -> Result<Vec<Piece<'_>>, RoutePathError> {
    let wrong = |reason: &str, hint| RoutePathError { reason: reason.to_owned(), hint };
    let mut pieces = Vec::new();
    let mut rest = path;
    while let Some(open) = rest.find(['{', '}']) {
        if rest.as_bytes()[open] == b'}' {
            return Err(wrong("a `}` has no `{` before it", VARIES));
        }
        if open > 0 {
            pieces.push(Piece::Text(&rest[..open]));
        }
        let close = closing(&rest[open..]).ok_or_else(|| wrong("a `{` is not closed", VARIES))?;
        let inner = &rest[open + 1..open + close];
        let (name, regex) = inner.split_once(':').map_or((inner, None), |(name, regex)| (name, Some(regex)));
        let named = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        if name.is_empty() || !name.chars().all(named) {
            let hint = if name.contains('*') { BELOW } else { VARIES };
            return Err(wrong("a variable is written `{name}` or `{name:regular expression}`", hint));
        }
        pieces.push(match regex {
            Some("") => return Err(wrong("the regular expression of a variable is empty", VARIES)),
            Some(regex) => Piece::Matching(name, regex),
            None => Piece::Param(name),
        });
        rest = &rest[open + close + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

/// The text outside of the variables: a regular expression may contain characters that a path may
/// not.
pub(crate) fn without_variables(path: &str) -> String {
    let mut plain = String::new();
    let mut rest = path;
    while let Some((open, close)) = next_variable(rest) {
        plain.push_str(&rest[..open]);
        rest = &rest[close + 1..];
    }
    plain + rest
}

/// The positions of the braces around the next variable.
fn next_variable(text: &str) -> Option<(usize, usize)> {
    let open = text.find('{')?;
    Some((open, open + closing(&text[open..])?))
}

/// The position of the brace that closes the one at the start of `text`. Regular expressions may
/// contain braces of their own.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Returns `None` if the path cannot be matched segment by segment.
fn segments(pieces: &[Piece<'_>]) -> Option<(Vec<Segment>, bool)> {
    let mut segments = Vec::new();
    // Whether a segment can start here. A variable must have a segment of its own.
    let mut open = false;
    let mut trailing_slash = false;
    for piece in pieces {
        match piece {
            Piece::Matching(..) => return None,
            Piece::Param(_) if !open => return None,
            Piece::Param(_) => {
                segments.push(Segment::Param);
                (open, trailing_slash) = (false, false);
            }
            Piece::Text(text) => {
                let body = text.strip_prefix('/')?;
                let (body, slash) = match body.strip_suffix('/') {
                    Some(body) => (Some(body), true),
                    None if body.is_empty() => (None, true),
                    None => (Some(body), false),
                };
                for part in body.into_iter().flat_map(|body| body.split('/')) {
                    segments.push(Segment::Literal(percent_decode_str(part).decode_utf8_lossy().into()));
                }
                (open, trailing_slash) = (slash, slash);
            }
        }
    }
    // `/` itself has no segment and no trailing slash.
    Some((segments.clone(), trailing_slash && !segments.is_empty()))
}

fn regex_source(pieces: &[Piece<'_>], prefix: bool) -> String {
    let mut source = "^".to_owned();
    let mut variable = 0;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => {
                let text = if prefix && at + 1 == pieces.len() { text.trim_end_matches('/') } else { text };
                source.push_str(&regex_lite::escape(&percent_decode_str(text).decode_utf8_lossy()));
                continue;
            }
            Piece::Param(_) => source.push_str(&format!("(?P<{}>[^/]+)", variable_group(variable))),
            Piece::Matching(_, regex) => {
                source.push_str(&format!("(?P<{}>{})", variable_group(variable), unanchored(regex)));
            }
        }
        variable += 1;
    }
    source.push_str(if prefix { "(?s:/.*)?$" } else { "$" });
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_segments(path: &str) -> Option<(Vec<Segment>, bool)> {
        match RoutePattern::parse(path, false) {
            Ok(RoutePattern::Segments { segments, trailing_slash }) => Some((segments, trailing_slash)),
            Ok(RoutePattern::Regex(_)) | Err(_) => None,
        }
    }

    #[test]
    fn paths_that_differ_in_variable_names_have_the_same_shape() {
        assert_eq!(shape("/x/{a}"), shape("/x/{b}"));
        assert_eq!(shape("/x/v{a}-{b}/y"), shape("/x/v{c}-{d}/y"));
        assert_ne!(shape("/x/{a:[0-9]+}"), shape("/x/{b}"));
        assert_eq!(shape("/x/{a:[0-9]+}"), shape("/x/{b:[0-9]+}"));
        assert_ne!(shape(r"/{a:\d{4}-\d{2}}"), shape(r"/{a:\d{4}-\d{3}}"));
        assert_ne!(shape("/x/{a}"), shape("/{a}/x"));
        assert_eq!(shape(r"/x/{a:^\d+$}"), shape(r"/x/{b:\d+}"));
    }

    #[test]
    fn plain_paths_are_matched_by_segments() {
        let literal = |text: &str| Segment::Literal(text.into());
        assert_eq!(in_segments("/"), Some((vec![], false)));
        assert_eq!(in_segments("/a"), Some((vec![literal("a")], false)));
        assert_eq!(in_segments("/a/"), Some((vec![literal("a")], true)));
        assert_eq!(in_segments("/a%20b/c"), Some((vec![literal("a b"), literal("c")], false)));
        assert_eq!(in_segments("/{x}"), Some((vec![Segment::Param], false)));
        assert_eq!(in_segments("/{x}/"), Some((vec![Segment::Param], true)));
        assert_eq!(
            in_segments("/a/{x}/b/{y}"),
            Some((vec![literal("a"), Segment::Param, literal("b"), Segment::Param], false))
        );
        assert_eq!(in_segments("/v{x}"), None);
        assert_eq!(in_segments("/{x}y"), None);
        assert_eq!(in_segments("/{x}{y}"), None);
        assert_eq!(in_segments("/{x:[0-9]{3}}"), None);
    }

    #[test]
    fn reads_variable_names_from_the_path() {
        let all = |path| variable_names(path).collect::<Vec<_>>();
        assert_eq!(all("/a/b"), Vec::<&str>::new());
        assert_eq!(all("/a/{x}/b/{y}"), ["x", "y"]);
        assert_eq!(all("/v{major:[0-9]{1,3}}.{minor}/x"), ["major", "minor"]);
    }

    #[test]
    fn rejects_unusable_paths_with_a_reason() {
        for (path, reason) in [
            ("a", "start with `/`"),
            ("/{a", "is not closed"),
            ("/a}", "no `{`"),
            ("/{}", "written `{name}`"),
            ("/{a b}", "written `{name}`"),
            ("/{a:}", "is empty"),
            ("/{a:[}", "regular expression"),
            ("/{a:(}", "regular expression"),
            ("/{a:)(}", "regular expression"),
            ("/{a:(x{1000}){1000}}", "regular expression"),
            ("/{a:(?P<milepost0>x)}", "regular expression"),
            ("/any/{p*}", "written `{name}`"),
            ("/any/{*}", "written `{name}`"),
        ] {
            let error = RoutePattern::parse(path, false).expect_err(path).to_string();
            assert!(error.contains(reason), "{path}: {error}");
        }
    }
}
