//! `ArchiveUploadSpec`: selects the files of an archive.

use super::super::files::{Patterns, check_alone, select, shown};
use super::super::problems::Sink;
use super::super::yaml::{Fields, Node};
use super::super::{Place, Selection};
use super::Reader;
use super::document::note_whole_metadata;

pub const KEYS: [&str; 7] = ["apiVersion", "kind", "metadata", "name", "rootdir", "include", "exclude"];

pub struct Archive {
    pub place: Place,
    /// None if it is invalid, which has been reported.
    pub selection: Option<Selection>,
    pub used: bool,
}

impl Reader<'_> {
    pub fn archive(&mut self, sink: &Sink<'_>, node: Node) {
        let line = node.line;
        let mut fields = Fields::read(sink, node, line, "an ArchiveUploadSpec", &KEYS);
        note_whole_metadata(&mut fields);
        let name = fields.need("name", "set `name: NAME`; packages refer to it with `url: archive://NAME`");
        let what =
            name.as_ref().map_or_else(|| "an ArchiveUploadSpec".to_owned(), |(name, _)| format!("archive `{name}`"));
        let rootdir = fields.text_at("rootdir").filter(|(rootdir, _)| !rootdir.is_empty());
        let (include, exclude) = (fields.texts("include"), fields.texts("exclude"));
        if include.is_empty() && !fields.is_unreadable("include") {
            let hint = "list its files under `include:`, with lines like `- \"hello/*.py\"`";
            sink.wrong_hint(line, format!("{what} has no `include`"), hint);
        }
        let selection = self.selection(sink, &what, rootdir, &include, &exclude);
        let Some((name, name_line)) = name else {
            *self.lost.unnamed.entry("archive").or_default() += 1;
            return;
        };
        self.seen_at(sink, "archive", "archive", &name, name_line);
        let archive = Archive { place: sink.place(line), selection, used: false };
        self.archives.entry(name).or_insert(archive);
    }

    fn selection(
        &self,
        sink: &Sink<'_>,
        what: &str,
        rootdir: Option<(String, u64)>,
        include: &Patterns,
        exclude: &Patterns,
    ) -> Option<Selection> {
        let root = match rootdir {
            None => self.project.clone(),
            Some((rootdir, line)) => {
                let root = self.project.join(&rootdir);
                if !root.is_dir() {
                    let message = format!("`rootdir` of {what}: folder `{}` does not exist", root.display());
                    let hint = format!("it is relative to the parent of the specs, `{}`", shown(&self.project));
                    sink.wrong_hint(line, message, hint);
                    check_alone(sink, what, include, exclude);
                    return None;
                }
                root
            }
        };
        if include.is_empty() {
            check_alone(sink, what, include, exclude);
            return None;
        }
        let (selection, right) = select(sink, what, &root, include, exclude);
        right.then_some(selection)
    }
}
