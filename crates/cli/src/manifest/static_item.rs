//! `static:`

use std::path::PathBuf;

use milepost_model::spec::StaticSpec;
use milepost_model::unit_put::check_static;
use milepost_model::{Digest, UnitKind, UnitName};

use super::error::ManifestError;
use super::fields::Fields;
use super::node::Node;
use super::{Place, source_path};

type Result<T> = std::result::Result<T, ManifestError>;

const KEYS: [&str; 6] = ["src", "path", "exclude", "index", "fallback", "error"];

#[derive(Debug)]
pub struct StaticItem {
    pub name: UnitName,
    pub line: u64,
    pub src: PathBuf,
    pub exclude: Vec<String>,
    /// Complete but for the tree.
    pub spec: StaticSpec,
}

pub fn read(node: Node, place: &Place) -> Result<StaticItem> {
    let line = node.line;
    let mut fields = Fields::read(node, line, "a static item", &KEYS)?;
    let (src, src_line) = fields.need("src", "name a folder or a file with `src: public`")?;
    let (path, path_line) = fields.need("path", "say where it is served, like `path: /`")?;
    // `/static` and `/static/` are one place.
    let path = if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
    let what = format!("static item `{path}`");
    let name = UnitName::for_kind(UnitKind::Static, &path)
        .map_err(|error| ManifestError::new(path_line, error.to_string()))?;
    let src = source_path(place, &src, src_line, &what)?;
    let exclude = fields.texts("exclude")?.into_iter().map(|(pattern, _)| pattern).collect();
    let index = fields.text("index")?;
    let fallback = fields.text("fallback")?;
    let error_page = fields.text_at("error")?;
    if let (Some(_), Some((_, line))) = (&fallback, &error_page) {
        return Err(ManifestError::new(*line, format!("{what} has both `fallback` and `error`")).hint(
            "`fallback` answers 200 for paths that do not exist, as single-page applications want; `error` answers 404",
        ));
    }
    let spec = StaticSpec {
        path,
        tree: Digest::of(b""),
        file: src.is_file(),
        index: index.unwrap_or_else(|| "index.html".to_owned()),
        fallback,
        error_page: error_page.map(|(file, _)| file),
    };
    check_static(&spec).map_err(|error| ManifestError::new(line, format!("{what}: {error}")))?;
    Ok(StaticItem { name, line, src, exclude, spec })
}
