//! Decodes URL paths to file names, without a way around the list of files.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Decodes each segment of a path, which keeps its leading slash. Returns `None` for paths that
/// cannot name a served file: with an empty segment, `.` or `..`, an encoded slash or backslash, a
/// control character, invalid UTF-8, or a segment that begins with a dot other than
/// `/.well-known/`.
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

/// Decodes a path that names no file, only to choose the mount above it. It is never looked up.
pub(crate) fn decode_loosely(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let segments = path.split('/').map(|segment| {
        let decoded = percent_decode_str(segment).decode_utf8_lossy();
        // An encoded slash does not end a segment.
        if decoded.contains('/') { Cow::Borrowed(segment) } else { decoded }
    });
    Cow::Owned(segments.collect::<Vec<_>>().join("/"))
}

fn is_plain(segment: &str, at: usize) -> bool {
    let hidden = segment.starts_with('.') && !(at == 0 && segment == ".well-known");
    !segment.is_empty() && !hidden && !segment.bytes().any(|byte| byte == b'\\' || byte.is_ascii_control())
}

/// Returns the path relative to a mount: `None` if it is not below the mount, `""` for the mount
/// itself.
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
    fn rejects_unsafe_paths() {
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
        // Decoded only once: the result is an ordinary name that no file has.
        assert_eq!(decode("/%252e%252e/a").as_deref(), Some("/%2e%2e/a"));
    }

    #[test]
    fn mounts_end_at_segment_boundaries() {
        assert_eq!(below("/a/b", "/"), Some("a/b"));
        assert_eq!(below("/", "/"), Some(""));
        assert_eq!(below("/static/x", "/static"), Some("x"));
        assert_eq!(below("/static", "/static"), Some(""));
        assert_eq!(below("/staticx", "/static"), None);
        assert_eq!(below("/other", "/static"), None);
    }

    proptest! {
        #[test]
        fn decoded_paths_have_only_plain_segments(path in "/[a./\\\\%25e\u{0}\u{fc}]{0,20}") {
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
