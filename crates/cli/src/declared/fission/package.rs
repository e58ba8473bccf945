//! `Package`, and the archives in it.

use data_encoding::BASE64;
use milepost_model::unit_put::{PackagePut, UnitPut};
use milepost_model::{Digest, UnitKind, UnitName};

use super::super::yaml::{Content, Fields};
use super::super::{Place, TreeSlot};
use super::Reader;
use super::document::Object;
use super::environment::command;

pub const KEYS: [&str; 4] = ["environment", "source", "deployment", "buildcmd"];
const ARCHIVE_KEYS: [&str; 5] = ["type", "literal", "url", "oci", "checksum"];
const CHECKSUM_KEYS: [&str; 2] = ["type", "sum"];
const ARCHIVE: &str = "archive://";
const DOWNLOAD: &str =
    "put the file into the project, name it in an ArchiveUploadSpec, and write `url: archive://NAME` here";

/// A tree of a package whose files are known when everything is read.
pub struct Pending {
    /// Which unit it belongs to.
    pub unit: usize,
    pub slot: TreeSlot,
    pub bytes: Bytes,
    /// ``package `hello-pkg` ``
    pub what: String,
    pub place: Place,
    pub environment: Option<UnitName>,
}

/// What an archive of a package is.
pub enum Bytes {
    Archive(String),
    Literal(Vec<u8>),
}

impl Reader<'_> {
    pub fn package(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let environment = self.reference(&mut spec, "environment", UnitKind::Environment, &["name", "namespace"]);
        let mut found = Vec::new();
        let mut wrong = false;
        for (key, slot) in [("source", TreeSlot::Source), ("deployment", TreeSlot::Deployment)] {
            match archive(&mut spec, key) {
                Ok(Some((bytes, line))) => found.push((slot, bytes, line)),
                Ok(None) => {}
                Err(Told) => wrong = true,
            }
        }
        let build = spec.text_at("buildcmd");
        let has_source = found.iter().any(|(slot, ..)| *slot == TreeSlot::Source);
        let build_command = match build {
            Some((build, line)) => {
                let build = command(Some(build));
                if build.is_some() && !has_source && !wrong {
                    let message = format!("`buildcmd` of {what} has nothing to build, and does not run");
                    sink.warn_hint(line, message, "what is built is the `source`");
                }
                build.filter(|_| has_source)
            }
            None => None,
        };
        wrong |= spec.is_unreadable("source") || spec.is_unreadable("deployment");
        self.lost.archives |= wrong;
        if found.is_empty() && !wrong {
            let hint =
                "name its files with `source:` and `url: archive://NAME` below it, NAME being an ArchiveUploadSpec";
            sink.wrong_hint(line, format!("{what} has neither a `source` nor a `deployment`"), hint);
        }
        let Some(name) = name else { return };
        let unit = self.units.len();
        let own = environment.as_ref().map(|environment| environment.name.clone());
        for (slot, bytes, line) in found {
            let (what, place, environment) = (what.clone(), sink.place(line), own.clone());
            self.pending.push(Pending { unit, slot, bytes, what, place, environment });
        }
        let put = PackagePut { environment, build_command, ..PackagePut::default() };
        self.add(name, UnitPut::Package(put), Vec::new(), sink.place(line));
    }
}

/// A mistake that was told.
struct Told;

/// An archive and its line; none if there is nothing, or only the empty fields that programs write.
fn archive(spec: &mut Fields<'_>, key: &str) -> Result<Option<(Bytes, u64)>, Told> {
    let Some(node) = spec.take(key) else { return Ok(None) };
    let sink = spec.sink();
    let start = node.line;
    let what = spec.of(key);
    let is_map = matches!(node.content, Content::Map(_) | Content::Null);
    let mut fields = Fields::read(sink, node, start, &what, &ARCHIVE_KEYS);
    if !is_map {
        return Err(Told);
    }
    let kind = fields.text_at("type").filter(|(kind, _)| !kind.is_empty());
    let oci = fields.take_set("oci").map(|node| node.line);
    let literal = fields.text_at("literal").filter(|(literal, _)| !literal.is_empty());
    let url = fields.text_at("url").filter(|(url, _)| !url.is_empty());
    let checksum = checksum(&mut fields);
    if fields.is_unreadable("literal") || fields.is_unreadable("url") {
        return Err(Told);
    }
    if let Some(line) = oci.or(kind.as_ref().filter(|(kind, _)| kind == "oci").map(|(_, line)| *line)) {
        sink.wrong_hint(line, format!("{what} is in a container registry, which Milepost does not read"), DOWNLOAD);
        return Err(Told);
    }
    if let Some((kind, line)) = kind.filter(|(kind, _)| kind != "literal" && kind != "url") {
        sink.wrong_hint(line, format!("`{kind}` is not a type of archive"), "the types are `literal` and `url`");
        return Err(Told);
    }
    match (literal, url) {
        (None, None) => Ok(None),
        (Some(_), Some((_, line))) => {
            sink.wrong_hint(line, format!("{what} has both `literal` and `url`"), "keep one of them");
            Err(Told)
        }
        (None, Some((url, line))) => match url.strip_prefix(ARCHIVE) {
            Some(name) => Ok(Some((Bytes::Archive(name.to_owned()), line))),
            None => {
                sink.wrong_hint(line, format!("`url` of {what}: Milepost does not download `{url}`"), DOWNLOAD);
                Err(Told)
            }
        },
        (Some((literal, line)), None) => {
            let letters: String = literal.split_whitespace().collect();
            let Ok(bytes) = BASE64.decode(letters.as_bytes()) else {
                let hint = "a literal is a zip or a file in base64, as `base64 -w0 FILE` writes it";
                sink.wrong_hint(line, format!("`literal` of {what} is not base64"), hint);
                return Err(Told);
            };
            if let Some((sum, line)) = checksum {
                let found = Digest::of(&bytes).hex();
                if !found.eq_ignore_ascii_case(&sum) {
                    let message = format!("`checksum` of {what} does not fit the literal, whose sum is {found}");
                    sink.wrong_hint(line, message, "the literal was changed or cut: make both again");
                }
            }
            Ok(Some((Bytes::Literal(bytes), line)))
        }
    }
}

fn checksum(fields: &mut Fields<'_>) -> Option<(String, u64)> {
    let mut checksum = fields.inner("checksum", &CHECKSUM_KEYS);
    let kind = checksum.text_at("type").filter(|(kind, _)| !kind.is_empty());
    if let Some((kind, line)) = kind.filter(|(kind, _)| kind != "sha256") {
        checksum.sink().wrong_hint(line, format!("`{kind}` is not a type of checksum"), "the type is `sha256`");
        return None;
    }
    checksum.text_at("sum").filter(|(sum, _)| !sum.is_empty())
}
