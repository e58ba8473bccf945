//! Anchors in the regular expression of a variable.

/// Without `^` and `$` at its two ends: it is compared with all that the variable holds, so that they say nothing new, and
/// in the middle of a path no request would fulfil them.
pub fn unanchored(regex: &str) -> &str {
    let anchors = anchors(regex);
    let mut rest = regex;
    // One that is counted, as in `^?`, belongs to what counts it.
    if let Some(behind) = rest.strip_prefix('^').filter(|behind| !behind.starts_with(['?', '*', '+', '{'])) {
        rest = behind;
    }
    if let Some(before) = rest.strip_suffix('$').filter(|_| anchors.last() == Some(&(regex.len() - 1))) {
        rest = before;
    }
    if rest.is_empty() { regex } else { rest }
}

/// Whether an anchor is left that only the beginning or the end of a whole path could fulfil.
pub fn has_inner_anchor(regex: &str) -> bool {
    !anchors(unanchored(regex)).is_empty()
}

/// Where a regular expression has `^` and `$` as anchors: not escaped, and not in a class.
fn anchors(regex: &str) -> Vec<usize> {
    let mut found = Vec::new();
    // Where the class began that is open.
    let mut class = None;
    let mut letters = regex.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (letter, class) {
            ('\\', _) => drop(letters.next()),
            ('[', None) => class = Some(at),
            // The first letter of a class does not end it.
            (']', Some(began)) if !matches!(&regex[began + 1..at], "" | "^") => class = None,
            ('^' | '$', None) => found.push(at),
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
        for regex in ["^a$|^b$", "(?i)^x$", "(^x$)", "^^x", "x$$", "a^b", "^$", "$", "^?x"] {
            assert!(has_inner_anchor(regex), "{regex}");
        }
        for regex in [r"^\d+$", "[$]", "[^a]", "[]^$]", r"\^\$", "a|b", ""] {
            assert!(!has_inner_anchor(regex), "{regex}");
        }
    }
}
