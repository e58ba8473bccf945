//! Which part of a request's path a route passes to its function.

use milepost_model::route_path::RoutePattern;

/// The options of a route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteRewrite {
    /// Pass the path without the route's prefix.
    pub strip: bool,
    /// Pass requests on as Fission's router does.
    pub fission: bool,
}

/// The compiled options, computed once when the table is built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompiledRewrite {
    path: RewritePath,
    pub(crate) fission: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RewritePath {
    #[default]
    Whole,
    /// Without this many leading segments.
    Below(u16),
    /// Always `/`.
    Root,
}

impl CompiledRewrite {
    pub(super) fn new(path: &str, prefix: bool, rewrite: RouteRewrite) -> Self {
        let RouteRewrite { strip, fission } = rewrite;
        let path = match prefix {
            true if strip => segments(path).map_or(RewritePath::Whole, RewritePath::Below),
            false if fission => RewritePath::Root,
            _ => RewritePath::Whole,
        };
        Self { path, fission }
    }

    /// Splits a request's path into the stripped part and the rest for the function. The first part
    /// is empty unless the route strips its prefix.
    pub(crate) fn split(self, path: &str) -> (&str, &str) {
        let segments = match self.path {
            RewritePath::Whole => return ("", path),
            RewritePath::Root => return ("", "/"),
            RewritePath::Below(segments) => segments,
        };
        let mut at = 0;
        for _ in 0..segments {
            at = path.get(at + 1..).and_then(|rest| rest.find('/')).map_or(path.len(), |found| at + 1 + found);
        }
        let (mount, rest) = path.split_at(at);
        // Many URL parsers read a leading `//` as the start of a host.
        let doubled = rest.len() - rest.trim_start_matches('/').len();
        match rest.get(doubled.saturating_sub(1)..) {
            None | Some("") => (mount, "/"),
            Some(rest) => (mount, rest),
        }
    }
}

fn segments(path: &str) -> Option<u16> {
    match RoutePattern::parse(path, true) {
        Ok(RoutePattern::Segments { segments, .. }) => u16::try_from(segments.len()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(route: &str, rewrite: RouteRewrite, asked: &str) -> (String, String) {
        let (mount, rest) = CompiledRewrite::new(route, true, rewrite).split(asked);
        (mount.to_owned(), rest.to_owned())
    }

    #[test]
    fn strips_a_prefix_by_segments() {
        let strip = RouteRewrite { strip: true, fission: false };
        for (route, asked, mount, rest) in [
            ("/api", "/api/login", "/api", "/login"),
            ("/api/", "/api/login", "/api", "/login"),
            ("/api", "/api", "/api", "/"),
            ("/api", "/api/", "/api", "/"),
            ("/api", "/%61pi/a%2fb/", "/%61pi", "/a%2fb/"),
            ("/api", "/api//example.org/x", "/api", "/example.org/x"),
            ("/api", "/api///", "/api", "/"),
            ("/", "/login", "", "/login"),
            ("/t/{tenant}", "/t/acme/a/b", "/t/acme", "/a/b"),
            ("/{a:x.*}", "/xyz/login", "", "/xyz/login"),
        ] {
            assert_eq!(split(route, strip, asked), (mount.to_owned(), rest.to_owned()), "{route} {asked}");
        }
    }

    #[test]
    fn changes_the_path_only_as_requested() {
        let whole = CompiledRewrite::new("/api", true, RouteRewrite::default());
        assert_eq!((whole, whole.split("/api/x")), (CompiledRewrite::default(), ("", "/api/x")));
        assert_eq!(
            CompiledRewrite::new("/api", false, RouteRewrite { strip: true, fission: false }).split("/api"),
            ("", "/api")
        );
        let fission = RouteRewrite { strip: false, fission: true };
        assert_eq!(CompiledRewrite::new("/users/{id}", false, fission).split("/users/7"), ("", "/"));
        assert_eq!(CompiledRewrite::new("/users", true, fission).split("/users/7"), ("", "/users/7"));
    }
}
