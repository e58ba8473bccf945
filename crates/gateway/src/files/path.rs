//! From the path of a URL to the name of a file, with no way around the list of files.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The path with its segments decoded, still with the slash in front. `None` when it can name no file that is served:
/// an empty segment, `.` or `..`, a slash or backslash in disguise, a control letter, what is not UTF-8, or a segment
/// that begins with a dot, but for `/.well-known/`.
pub(crate) fn decode(path: &str) -> Option<Cow<'_, str>> {
    let body = path.strip_prefix('/')?;
    let segments = body.strip_suffix('/').unwrap_or(body);
    if body == "/" {
        return None;
    }
    if !segments.is_empty() {
        for (at, segment) in segments.split('/').enumerate() {
            if !is_plain(segment, at) {
                return None;
            }
        }
    }
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    let mut decoded = String::with_capacity(path.len());
    for (at, segment) in body.split('/').enumerate() {
        let segment = percent_decode_str(segment).decode_utf8().ok()?;
        if segment.contains('/') || (!segment.is_empty() && !is_plain(&segment, at)) {
            return None;
        }
        decoded.push('/');
        decoded.push_str(&segment);
    }
    Some(Cow::Owned(decoded))
}

/// A path that names no file, for the choice of the mount it is below. It is never looked up.
pub(crate) fn decode_loosely(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let segments = path.split('/').map(|segment| {
        let decoded = percent_decode_str(segment).decode_utf8_lossy();
        // A slash in disguise does not end a segment.
        if decoded.contains('/') { Cow::Borrowed(segment) } else { decoded }
    });
    Cow::Owned(segments.collect::<Vec<_>>().join("/"))
}

fn is_plain(segment: &str, at: usize) -> bool {
    let hidden = segment.starts_with('.') && !(at == 0 && segment == ".well-known");
    !segment.is_empty() && !hidden && !segment.bytes().any(|byte| byte == b'\\' || byte.is_ascii_control())
}

/// What is left of a path below a mount: `None` when it is not below it, `""` for the mount itself.
pub(crate) fn below<'p>(path: &'p str, mount: &str) -> Option<&'p str> {
    if mount == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(mount)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_paths_are_decoded() {
        for (path, decoded) in [
            ("/", "/"),
            ("/a", "/a"),
            ("/a/", "/a/"),
            ("/a%20b/c", "/a b/c"),
            ("/%C3%BC", "/\u{fc}"),
            ("/a%25b", "/a%b"),
            ("/a..b", "/a..b"),
            ("/.well-known/x", "/.well-known/x"),
            ("/%2Ewell-known/x", "/.well-known/x"),
            ("/100%", "/100%"),
        ] {
            assert_eq!(decode(path).as_deref(), Some(decoded), "{path}");
        }
    }

    #[test]
    fn paths_with_a_trick_name_nothing() {
        for path in [
            "",
            "a",
            "//",
            "//a",
            "/a//b",
            "/a//",
            "/..",
            "/../a",
            "/a/..",
            "/a/../b",
            "/./a",
            "/%2e%2e/a",
            "/%2E%2E/a",
            "/.%2e/a",
            "/a%2fb",
            "/a%2Fb",
            "/%2fetc/passwd",
            "/a%5cb",
            "/a\\b",
            "/..%5c..%5ca",
            "/a%00",
            "/%00",
            "/a%0a",
            "/%c0%ae%c0%ae/a",
            "/%c0%af",
            "/%ff",
            "/%e0%80%ae",
            "/.env",
            "/.git/config",
            "/a/.hidden",
            "/%2eenv",
            "/a/.well-known/x",
            "/...",
            "/a/%2e",
            "/.well-known/.x",
        ] {
            assert_eq!(decode(path), None, "{path}");
        }
        // Decoded once: what is left is a name like any other, and no file is called so.
        assert_eq!(decode("/%252e%252e/a").as_deref(), Some("/%2e%2e/a"));
    }

    #[test]
    fn a_mount_ends_at_a_segment() {
        assert_eq!(below("/a/b", "/"), Some("a/b"));
        assert_eq!(below("/", "/"), Some(""));
        assert_eq!(below("/static/x", "/static"), Some("x"));
        assert_eq!(below("/static", "/static"), Some(""));
        assert_eq!(below("/staticx", "/static"), None);
        assert_eq!(below("/other", "/static"), None);
    }

    proptest! {
        #[test]
        fn whatever_is_asked_for_stays_below(path in "/[a./\\\\%25e\u{0}\u{fc}]{0,20}") {
            if let Some(decoded) = decode(&path) {
                let mut segments = decoded[1..].split('/').collect::<Vec<_>>();
                if segments.last() == Some(&"") {
                    segments.pop();
                }
                for segment in segments {
                    prop_assert!(!segment.is_empty() && !segment.starts_with('.'), "{path} -> {decoded}");
                    prop_assert!(!segment.contains(['\\', '\0']), "{path} -> {decoded}");
                }
            }
        }
    }
}
