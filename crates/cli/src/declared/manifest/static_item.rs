//! `static:`

use milepost_model::spec::StaticSpec;
use milepost_model::unit_put::{UnitPut, check_static};
use milepost_model::{Digest, UnitKind};

use super::super::files::Patterns;
use super::super::yaml::{Fields, Node};
use super::super::{FileSet, Selection, TreeSlot};
use super::Found;

const KEYS: [&str; 7] = ["src", "path", "include", "exclude", "index", "fallback", "error"];

impl Found<'_> {
    pub(super) fn static_item(&mut self, node: Node) {
        let line = node.line;
        let mut fields = Fields::read(self.sink, node, line, "a static item", &KEYS);
        let src = fields.need("src", "name a folder or a file with `src: public`");
        let path = fields.need("path", "say where it is served, like `path: /`");
        // `/static` and `/static/` are one place.
        let plain = |path: String| if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
        let (path, path_line) = path.map_or((None, line), |(path, line)| (Some(plain(path)), line));
        let what = path.as_ref().map_or_else(|| "a static item".to_owned(), |path| format!("static item `{path}`"));
        let (include, exclude) = (fields.texts("include"), fields.texts("exclude"));
        let index = fields.text("index");
        let fallback = fields.text("fallback");
        let error_page = fields.text_at("error");
        if let (Some(_), Some((_, line))) = (&fallback, &error_page) {
            let hint = "`fallback` answers 200 for paths that do not exist, as single-page applications want; `error` answers 404";
            self.sink.wrong_hint(*line, format!("{what} has both `fallback` and `error`"), hint);
        }
        let (Some((src, src_line)), Some(path)) = (src, path) else { return };
        let root = self.path(&src, src_line, "src", &what);
        let spec = StaticSpec {
            path: path.clone(),
            tree: Digest::of(b""),
            file: root.is_file(),
            index: index.unwrap_or_else(|| "index.html".to_owned()),
            fallback: fallback.filter(|_| error_page.is_none()),
            error_page: error_page.map(|(file, _)| file),
        };
        let texts = |patterns: &Patterns| patterns.iter().map(|(pattern, _)| pattern.clone()).collect();
        // What a build made is often left out by `.gitignore`, and is just what should be served.
        let selection = Selection {
            root,
            include: texts(&include),
            exclude: texts(&exclude),
            keep_archives: true,
            gitignore: false,
        };
        self.check_patterns(&what, &selection, &include, &exclude);
        let Some(name) = self.name(UnitKind::Static, &path, path_line, "") else { return };
        if let Err(error) = check_static(&spec) {
            self.sink.wrong(line, format!("{what}: {error}"));
        }
        if let Some(place) = self.earlier(UnitKind::Static, &name) {
            let message = format!("`{name}` is served by another static item already, on line {}", place.line);
            self.sink.wrong_hint(line, message, "give one of them another `path`");
        }
        self.add(name, UnitPut::Static(spec), vec![(TreeSlot::Static, FileSet::Files(selection))], line);
    }
}
