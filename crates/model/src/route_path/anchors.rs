//! Anchors in the regular expressions of variables.

/// An anchor matches only at the start or at the end of the whole path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    End,
}

/// Strips a leading `^` and a trailing `$`. The expression is matched against everything that the
/// variable holds, so they are redundant, and in the middle of a path they would never match.
pub fn unanchored(regex: &str) -> &str {
    let anchors = anchors(regex);
    let mut rest = regex;
    // A quantified anchor like `^?` belongs to its quantifier.
    if let Some(behind) = rest.strip_prefix('^').filter(|behind| !behind.starts_with(['?', '*', '+', '{'])) {
        rest = behind;
    }
    let is_anchor = anchors.last() == Some(&(regex.len().saturating_sub(1), Anchor::End));
    if let Some(before) = rest.strip_suffix('$').filter(|_| is_anchor) {
        rest = before;
    }
    if rest.is_empty() { regex } else { rest }
}

/// The anchors that are not at either end.
pub fn inner_anchors(regex: &str) -> impl Iterator<Item = Anchor> {
    anchors(unanchored(regex)).into_iter().map(|(_, anchor)| anchor)
}

/// The positions of anchors that are neither escaped nor inside a character class.
fn anchors(regex: &str) -> Vec<(usize, Anchor)> {
    let mut found = Vec::new();
    // The start of the open character class.
    let mut class = None;
    let mut letters = regex.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (letter, class) {
            ('\\', _) => match (letters.next(), class) {
                (Some((_, 'A')), None) => found.push((at, Anchor::Start)),
                (Some((_, 'z')), None) => found.push((at, Anchor::End)),
                _ => {}
            },
            ('[', None) => class = Some(at),
            // A named class inside a class, like `[:alpha:]`.
            ('[', Some(_)) if regex[at..].starts_with("[:") => {
                if let Some(length) = regex[at..].find(":]") {
                    letters.nth(regex[at..at + length].chars().count());
                }
            }
            // A `]` at the start of a class does not close it.
            (']', Some(began)) if !matches!(&regex[began + 1..at], "" | "^") => class = None,
            ('^', None) => found.push((at, Anchor::Start)),
            ('$', None) => found.push((at, Anchor::End)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_anchors_at_both_ends() {
        for (given, meant) in [
            (r"^\d+$", r"\d+"),
            ("^a|b$", "a|b"),
            ("^x", "x"),
            ("x$", "x"),
            (r"x\$", r"x\$"),
            (r"x\\$", r"x\\"),
            ("[^$]", "[^$]"),
            ("[]^$]", "[]^$]"),
            ("^?x", "^?x"),
            ("^$", "^$"),
            ("^", "^"),
            ("$", "$"),
            ("^é$", "é"),
            ("", ""),
        ] {
            assert_eq!(unanchored(given), meant, "{given}");
        }
    }

    #[test]
    fn finds_inner_anchors() {
        use Anchor::{End, Start};
        let cases: [(&str, &[Anchor]); 13] = [
            ("^a$|^b$", &[End, Start]),
            ("(?i)^x$", &[Start]),
            ("(^x$)", &[Start, End]),
            ("^^x", &[Start]),
            ("x$$", &[End]),
            ("a^b", &[Start]),
            ("^$", &[Start, End]),
            ("$", &[End]),
            ("^?x", &[Start]),
            (r"\Ax\z", &[Start, End]),
            (r".*\.js$|.*\.css$", &[End]),
            ("[[:alpha:]]$x", &[End]),
            ("[[:alpha:]$]^", &[Start]),
        ];
        for (regex, anchors) in cases {
            assert_eq!(inner_anchors(regex).collect::<Vec<_>>(), anchors, "{regex}");
        }
        for regex in [r"^\d+$", "[$]", "[^a]", "[]^$]", r"\^\$", "a|b", "", "[[:alpha:]$]", "[é[:digit:]^]", r"[\]^]"]
        {
            assert_eq!(inner_anchors(regex).count(), 0, "{regex}");
        }
    }
}
