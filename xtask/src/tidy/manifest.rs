//! The subset of `Cargo.toml` parsing that the edges need: names and lines of dependencies.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Dev,
    Build,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    pub kind: Kind,
    pub line: usize,
}

/// Parses line by line: our manifests keep every dependency on one line or in its own table.
pub fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = None;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let number = index + 1;
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            let (kind, own_table) = parse_header(header);
            section = kind.filter(|_| own_table.is_none());
            if let (Some(kind), Some(name)) = (kind, own_table) {
                found.push(Dependency { name: name.to_owned(), kind, line: number });
            }
        } else if let Some(kind) = section
            && let Some((key, _)) = line.split_once('=')
            && !line.starts_with('#')
        {
            let name = key.split('.').next().unwrap_or_default().trim().trim_matches('"').to_owned();
            found.push(Dependency { name, kind, line: number });
        }
    }
    found
}

/// Returns the kind of dependencies under a header, and the dependency's name if the table is for a
/// single one.
fn parse_header(header: &str) -> (Option<Kind>, Option<&str>) {
    // `target.'cfg(unix)'.dependencies` contains other dots, but the word only once.
    for (word, kind) in
        [("dev-dependencies", Kind::Dev), ("build-dependencies", Kind::Build), ("dependencies", Kind::Normal)]
    {
        let Some(at) = header.find(word) else { continue };
        let in_place = at == 0 || header.starts_with("target.");
        let name = header[at + word.len()..].strip_prefix('.');
        return (in_place.then_some(kind), name);
    }
    (None, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_all_forms_of_a_dependency() {
        let manifest = r#"
[package]
name = "x"
[dependencies]
# serde = "1"
milepost-model.workspace = true
bytes = { version = "1" }
[dependencies.clap]
version = "4"
[target.'cfg(target_os = "linux")'.dependencies]
rustix.workspace = true
[dev-dependencies]
proptest = "1"
[build-dependencies]
cc = "1"
[lints]
workspace = true
"#;
        let found: Vec<(String, Kind)> = dependencies(manifest).into_iter().map(|d| (d.name, d.kind)).collect();
        let expected = [
            ("milepost-model", Kind::Normal),
            ("bytes", Kind::Normal),
            ("clap", Kind::Normal),
            ("rustix", Kind::Normal),
            ("proptest", Kind::Dev),
            ("cc", Kind::Build),
        ];
        assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn ignores_workspace_dependencies() {
        assert_eq!(dependencies("[workspace.dependencies]\nanyhow = \"1\"\n"), []);
    }
}
