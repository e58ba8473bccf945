//! The dependencies that `pyproject.toml` lists, as lines of `requirements.txt`.

use std::path::Path;

use toml::{Table, Value};

use super::super::text;

pub(super) fn dependencies(folder: &Path) -> Option<Vec<String>> {
    let document: Table = text(folder, "pyproject.toml")?.parse().ok()?;
    let found = |path: &[&str]| {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(document.get(*first)?, |value, key| value.get(key)).cloned()
    };
    match found(&["project", "dependencies"]) {
        Some(Value::Array(lines)) => Some(lines.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        _ => {
            let listed = found(&["tool", "poetry", "dependencies"])?;
            let packages = listed.as_table()?.iter().filter(|(name, _)| *name != "python");
            Some(packages.filter_map(|(name, value)| of_poetry(name, value)).collect())
        }
    }
}

/// `requests = "^2.32"`, `uvicorn = { version = "^0.30", extras = ["standard"] }`. A package without
/// a version comes from elsewhere than the index, which a line here cannot say.
fn of_poetry(name: &str, value: &Value) -> Option<String> {
    let version = value.as_str().or_else(|| value.get("version")?.as_str())?;
    let extras: Vec<&str> =
        value.get("extras").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let bounds: Vec<String> = version.split(',').map(|bound| bounds(bound.trim())).collect();
    Some(format!("{name}{extras}{}", bounds.join(",").trim_matches(',')))
}

/// Poetry's `^1.2` and `~1.2`, which pip does not know.
fn bounds(text: &str) -> String {
    let (version, is_caret) =
        match (text.strip_prefix('^'), text.strip_prefix('~').filter(|rest| !rest.starts_with('='))) {
            (Some(version), _) => (version, true),
            (None, Some(version)) => (version, false),
            _ if text == "*" => return String::new(),
            _ if text.starts_with(|first: char| first.is_ascii_digit()) => return format!("=={text}"),
            _ => return text.to_owned(),
        };
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    let Some(mut numbers) = numbers else { return format!(">={version}") };
    // The first number that may not grow: of `^` the first one above 0, of `~` the second.
    let fixed = if is_caret {
        numbers.iter().position(|number| *number > 0).unwrap_or(numbers.len() - 1)
    } else {
        1.min(numbers.len() - 1)
    };
    numbers.truncate(fixed + 1);
    numbers[fixed] = numbers[fixed].saturating_add(1);
    let below: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!(">={version},<{}", below.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Vec<String>> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("pyproject.toml"), text).expect("a file");
        dependencies(folder.path())
    }

    #[test]
    fn lists_the_dependencies_of_a_project() {
        let project = "[project]\nname = 'x'\ndependencies = ['fastapi>=0.115', 'httpx[http2]']\n";
        assert_eq!(of(project).expect("dependencies"), ["fastapi>=0.115", "httpx[http2]"]);
        assert_eq!(of("[project]\nname = 'x'\n"), None);
        assert_eq!(of("[project\n"), None);
    }

    #[test]
    fn translates_the_versions_of_poetry() {
        let poetry = "[tool.poetry.dependencies]\npython = '^3.11'\na = '^1.2.3'\nb = '^0.2.3'\nc = '~1.4'\nd = '*'\ne = '2.0'\n\
                      f = '>=1,<3'\ng = { version = '^2', extras = ['x', 'y'] }\nh = { git = 'https://example.org/h' }\ni = '~=1.1'\n\
                      j = '^0.0'\n";
        let lines = of(poetry).expect("dependencies");
        assert_eq!(
            lines,
            [
                "a>=1.2.3,<2",
                "b>=0.2.3,<0.3",
                "c>=1.4,<1.5",
                "d",
                "e==2.0",
                "f>=1,<3",
                "g[x,y]>=2,<3",
                "i~=1.1",
                "j>=0.0,<0.1"
            ]
        );
    }
}
