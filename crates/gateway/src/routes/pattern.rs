//! The path of a route, read into its parts.

use percent_encoding::percent_decode_str;
use regex_lite::{Regex, RegexBuilder};

use super::RouteError;

/// A compiled regular expression takes no more than this.
const REGEX_BYTES: usize = 256 << 10;

/// How the paths of a route are recognised.
#[derive(Debug)]
pub(super) enum Pattern {
    /// Segment by segment: goes into the tree.
    Segments { segments: Vec<Segment>, trailing_slash: bool },
    /// The whole path at once, since a variable has a regular expression or shares its segment.
    Regex(Regex),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Decoded.
    Literal(Box<str>),
    Param,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece<'p> {
    Text(&'p str),
    Param(&'p str),
    Matching(&'p str, &'p str),
}

/// Reads a path.
pub(super) fn compile(path: &str, prefix: bool) -> Result<Pattern, RouteError> {
    let wrong = |reason: String| RouteError { path: path.into(), reason };
    if !path.starts_with('/') {
        return Err(wrong("it must start with `/`".to_owned()));
    }
    let pieces = pieces(path).map_err(|reason| wrong(reason.to_owned()))?;
    if let Some((segments, trailing_slash)) = segments(&pieces) {
        return Ok(Pattern::Segments { segments, trailing_slash });
    }
    let source = regex_source(&pieces, prefix);
    let regex = RegexBuilder::new(&source)
        .size_limit(REGEX_BYTES)
        .build()
        .map_err(|error| wrong(format!("its regular expression cannot be used: {error}")))?;
    Ok(Pattern::Regex(regex))
}

/// The names of the variables of a path that was compiled, in order.
pub(super) fn names(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let open = rest.find('{')?;
        let close = open + closing(&rest[open..])?;
        let inner = &rest[open + 1..close];
        rest = &rest[close + 1..];
        Some(inner.split_once(':').map_or(inner, |(name, _)| name))
    })
}

/// The name of the group that catches the variable at `at`; the user's own groups keep theirs.
pub(super) fn group(at: usize) -> String {
    format!("milepost{at}")
}

fn pieces(path: &str) -> Result<Vec<Piece<'_>>, &'static str> {
    let mut pieces = Vec::new();
    let mut rest = path;
    while let Some(open) = rest.find(['{', '}']) {
        if rest.as_bytes()[open] == b'}' {
            return Err("a `}` has no `{` before it");
        }
        if open > 0 {
            pieces.push(Piece::Text(&rest[..open]));
        }
        let close = closing(&rest[open..]).ok_or("a `{` is not closed")?;
        let inner = &rest[open + 1..open + close];
        let (name, regex) = inner.split_once(':').map_or((inner, None), |(name, regex)| (name, Some(regex)));
        let named = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        if name.is_empty() || !name.chars().all(named) {
            return Err("a variable is written `{name}` or `{name:regular expression}`");
        }
        pieces.push(match regex {
            Some("") => return Err("the regular expression of a variable is empty"),
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

/// Where the brace that opens `text` is closed. Regular expressions have braces of their own.
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

/// `None` when the path cannot be compared segment by segment.
fn segments(pieces: &[Piece<'_>]) -> Option<(Vec<Segment>, bool)> {
    let mut segments = Vec::new();
    // Whether the last segment can still grow; a variable must have its segment for itself.
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
            Piece::Param(_) => source.push_str(&format!("(?P<{}>[^/]+)", group(variable))),
            Piece::Matching(_, regex) => source.push_str(&format!("(?P<{}>{regex})", group(variable))),
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
        match compile(path, false) {
            Ok(Pattern::Segments { segments, trailing_slash }) => Some((segments, trailing_slash)),
            Ok(Pattern::Regex(_)) | Err(_) => None,
        }
    }

    #[test]
    fn plain_paths_are_read_by_segments() {
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
    fn the_names_of_variables_are_read_from_the_path() {
        let all = |path| names(path).collect::<Vec<_>>();
        assert_eq!(all("/a/b"), Vec::<&str>::new());
        assert_eq!(all("/a/{x}/b/{y}"), ["x", "y"]);
        assert_eq!(all("/v{major:[0-9]{1,3}}.{minor}/x"), ["major", "minor"]);
    }

    #[test]
    fn a_path_that_cannot_be_used_is_refused_with_the_reason() {
        for (path, reason) in [
            ("a", "start with `/`"),
            ("/{a", "not closed"),
            ("/a}", "no `{`"),
            ("/{}", "written `{name}`"),
            ("/{a b}", "written `{name}`"),
            ("/{a:}", "is empty"),
            ("/{a:[}", "regular expression"),
            ("/{a:(}", "regular expression"),
        ] {
            let error = compile(path, false).expect_err(path).to_string();
            assert!(error.contains(reason), "{path}: {error}");
        }
    }
}
