//! Anchors in the regular expression of a variable.

/// What only the beginning, or only the end, of a whole path could fulfil.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    End,
}

/// Without `^` and `$` at its two ends: it is compared with all that the variable holds, so that they say nothing new, and
/// in the middle of a path no request would fulfil them.
pub fn unanchored(regex: &str) -> &str {
    let anchors = anchors(regex);
    let mut rest = regex;
    // One that is counted, as in `^?`, belongs to what counts it.
    if let Some(behind) = rest.strip_prefix('^').filter(|behind| !behind.starts_with(['?', '*', '+', '{'])) {
        rest = behind;
    }
    let is_anchor = anchors.last() == Some(&(regex.len().saturating_sub(1), Anchor::End));
    if let Some(before) = rest.strip_suffix('$').filter(|_| is_anchor) {
        rest = before;
    }
    if rest.is_empty() { regex } else { rest }
}

/// The anchors that are not at one of its ends.
pub fn inner_anchors(regex: &str) -> impl Iterator<Item = Anchor> {
    anchors(unanchored(regex)).into_iter().map(|(_, anchor)| anchor)
}

/// Where a regular expression has anchors: not escaped, and not in a class.
fn anchors(regex: &str) -> Vec<(usize, Anchor)> {
    let mut found = Vec::new();
    // Where the class began that is open.
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
            // `[:alpha:]` in a class.
            ('[', Some(_)) if regex[at..].starts_with("[:") => {
                if let Some(length) = regex[at..].find(":]") {
                    letters.nth(regex[at..at + length].chars().count());
                }
            }
            // The first letter of a class does not end it.
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
    fn anchors_at_both_ends_say_nothing() {
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
    fn others_are_found() {
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
