//! Removes the margin of YAML that was copied from an indented page. The documents of seed 003 are
//! written like this: they and their `---` are indented, the first line less than the others.

/// Removes the common indentation of all lines after the first; line numbers stay the same. None if
/// there is no margin.
pub fn without(text: &str) -> Option<String> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let first = text.lines().position(|line| !line.trim().is_empty())?;
    let others = text.lines().skip(first + 1).filter(|line| !line.trim().is_empty());
    let margin = others.map(indent).min()?;
    if margin == 0 {
        return None;
    }
    let strip = |(at, line): (usize, &str)| {
        let cut = if at == first { indent(line) } else { margin.min(indent(line)) };
        format!("{}\n", &line[cut..])
    };
    Some(text.lines().enumerate().map(strip).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_the_margin_and_keeps_line_numbers() {
        let pasted = "a: 1\n b:\n   c: 2\n \n ---\n d: 3\n";
        assert_eq!(without(pasted).as_deref(), Some("a: 1\nb:\n  c: 2\n\n---\nd: 3\n"));
        assert_eq!(without("\n    a: 1\n    b: 2\n").as_deref(), Some("\na: 1\nb: 2\n"));
        assert_eq!(without("a: 1\nb: 2\n"), None);
        assert_eq!(without(""), None);
        assert_eq!(without("a: 1\n"), None);
    }
}
