//! `static:`

use milepost_model::spec::StaticSpec;
use milepost_model::unit_put::UnitPut;
use milepost_model::{Digest, UnitKind};

use crate::values::parse_duration_ms;

use super::super::files::{Patterns, check_alone};
use super::super::yaml::{Content, Fields, Key, Node};
use super::super::{FileSet, Selection, TreeSlot, checks};
use super::{Found, keys};

const KEYS: [&str; keys::STATIC_KEYS.len()] = keys::names(&keys::STATIC_KEYS);
pub(super) const FORM: &str = "write `- src: public` with `path: /` under it";

impl Found<'_> {
    /// Reads an item of the list, or a value in place of the list; then `is_reported` is set,
    /// because that was already reported.
    pub(super) fn static_items(&mut self, node: Node, is_reported: bool) {
        let Node { line, content } = node;
        match content {
            // Written under its path, like a route.
            Content::Map(entries)
                if entries.iter().all(|(key, _)| key.text.starts_with('/')) && !entries.is_empty() =>
            {
                if !is_reported {
                    self.sink.wrong_hint(line, "a static item must set its path with `path`", FORM);
                }
                for (key, value) in entries {
                    self.static_item(under(key, value), false);
                }
            }
            Content::Scalar(value, text) if value.is_string() => {
                if !is_reported {
                    self.sink.wrong_hint(line, "a static item must be a map, not a string", FORM);
                }
                let src = Node { line, content: Content::Scalar(value, text) };
                let entries = vec![(Key { line, text: "src".to_owned() }, src)];
                self.static_item(Node { line, content: Content::Map(entries) }, true);
            }
            content => self.static_item(Node { line, content }, false),
        }
    }

    /// `without_path`: the missing path was already reported.
    fn static_item(&mut self, node: Node, without_path: bool) {
        let line = node.line;
        let mut fields = Fields::read(self.sink, node, line, "a static item", &KEYS);
        if without_path {
            fields.spoil("path");
        }
        let src = fields.need("src", "set a folder or a file, like `src: public`");
        let path = fields.need("path", "set the path to serve it at, like `path: /`");
        // `/static` and `/static/` are the same path.
        let plain = |path: String| if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
        let (path, path_line) = path.map_or((None, line), |(path, line)| (Some(plain(path)), line));
        let what = path.as_ref().map_or_else(|| "a static item".to_owned(), |path| format!("static item `{path}`"));
        let (include, exclude) = (fields.texts("include"), fields.texts("exclude"));
        let index = fields.text("index");
        let fallback = fields.text("fallback");
        let error_page = fields.text_at("error");
        if let (Some(_), Some((_, line))) = (&fallback, &error_page) {
            let hint = "keep `fallback` to answer 200 for missing paths, as single-page applications need, or `error` to answer 404";
            self.sink.wrong_hint(*line, format!("{what} has both `fallback` and `error`"), hint);
        }
        let root = src.map(|(src, line)| self.path(&src, line, "src", &what));
        let spec = StaticSpec {
            path: path.clone().unwrap_or_else(|| "/".to_owned()),
            tree: Digest::of(b""),
            file: root.as_ref().is_some_and(|root| root.is_file()),
            index: index.unwrap_or_else(|| "index.html".to_owned()),
            fallback,
            error_page: error_page.map(|(file, _)| file),
            clean: fields.flag("clean"),
            expires_ms: fields.parsed("expires", parse_duration_ms),
        };
        let texts = |patterns: &Patterns| patterns.iter().map(|(pattern, _)| pattern.clone()).collect();
        let name = path.as_ref().map(|path| self.name(UnitKind::Static, path, path_line, ""));
        for error in checks::static_item(&spec) {
            let line = match error.field.as_str() {
                // The invalid name was already reported.
                "path" if name == Some(None) => continue,
                field => fields.line_of(field),
            };
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        let Some(root) = root else {
            check_alone(self.sink, &what, &include, &exclude);
            return;
        };
        // `.gitignore` often excludes build output, which is what should be served.
        let selection = Selection {
            root,
            include: texts(&include),
            exclude: texts(&exclude),
            documents: Vec::new(),
            keep_archives: true,
            gitignore: false,
        };
        let right = self.check_patterns(&what, &selection, &include, &exclude) && selection.root.exists();
        let Some(name) = name.flatten() else { return };
        if let Some(first) = self.earlier(UnitKind::Static, &name) {
            let message = format!("`{name}` is already served by the static item on line {}", first.place.line);
            self.sink.wrong_hint(line, message, "give one of them another `path`");
        }
        let trees = right.then_some((TreeSlot::Static, FileSet::Files(selection))).into_iter().collect();
        self.add(name, UnitPut::Static(spec), trees, line);
    }
}

/// Moves the path from the key into the item.
fn under(path: Key, value: Node) -> Node {
    let line = path.line;
    let key = |text: &str| Key { line, text: text.to_owned() };
    let text = Content::Scalar(path.text.clone().into(), path.text);
    let mut entries = vec![(key("path"), Node { line, content: text })];
    match value.content {
        Content::Map(more) => entries.extend(more),
        content => entries.push((key("src"), Node { line: value.line, content })),
    }
    Node { line, content: Content::Map(entries) }
}
