//! "Did you mean": the names closest to one that does not exist.

/// Returns the names close enough to `wanted` to be meant, nearest first, at most three.
pub fn closest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted_lower = wanted.to_lowercase();
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted_lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            let longest = wanted.chars().count().max(candidate.chars().count());
            *distance <= (longest / 3).max(1) || candidate.starts_with(wanted) || wanted.starts_with(candidate)
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(3).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// `` `a`, `b` or `c` ``
pub fn or_list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [init @ .., last] => {
            let init: Vec<String> = init.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", init.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_near_names() {
        assert_eq!(closest("helo", ["hello", "world", "help"]), ["hello", "help"]);
        assert_eq!(closest("v1.0.3", ["v1.0.2", "v1.0.1", "qa"]), ["v1.0.1", "v1.0.2"]);
        assert!(closest("zzz", ["hello"]).is_empty());
    }
}
