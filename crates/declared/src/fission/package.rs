//! `Package`, and its archives.

use data_encoding::BASE64;
use milepost_model::unit_put::{PackagePut, UnitPut};
use milepost_model::{Digest, UnitKind, UnitName};

use super::super::yaml::Fields;
use super::super::{Place, TreeSlot};
use super::Reader;
use super::document::Object;
use super::environment::command;

pub const KEYS: [&str; 4] = ["environment", "source", "deployment", "buildcmd"];
pub const ARCHIVE_KEYS: [&str; 5] = ["type", "literal", "url", "oci", "checksum"];
pub const CHECKSUM_KEYS: [&str; 2] = ["type", "sum"];
const ARCHIVE: &str = "archive://";
const DOWNLOAD: &str =
    "add the file to the project, list it in an ArchiveUploadSpec, and write `url: archive://NAME` here";

/// A tree of a package whose files are resolved after everything is read.
pub struct Pending {
    /// Index of its unit, if that has a valid name.
    pub unit: Option<usize>,
    pub slot: TreeSlot,
    pub bytes: Bytes,
    /// ``package `hello-pkg` ``
    pub what: String,
    pub place: Place,
    pub environment: Option<UnitName>,
}

/// The content of a package's archive.
pub enum Bytes {
    Archive(String),
    Literal(Vec<u8>),
}

impl Reader<'_> {
    pub fn package(&mut self, object: Object<'_>) {
        let Object { sink, what, name, mut spec, line } = object;
        let environment = self.reference(&mut spec, "environment", UnitKind::Environment, &["name", "namespace"]);
        let mut found = Vec::new();
        let (mut wrong, mut lost) = (false, false);
        for (key, slot) in [("source", TreeSlot::Source), ("deployment", TreeSlot::Deployment)] {
            let Archive { bytes, right, lost: hidden } = archive(&mut spec, key);
            wrong |= !right || spec.is_unreadable(key);
            lost |= hidden || spec.is_unreadable(key);
            found.extend(bytes.map(|(bytes, line)| (slot, bytes, line)));
        }
        let build = spec.text_at("buildcmd");
        let has_source = found.iter().any(|(slot, ..)| *slot == TreeSlot::Source);
        let build_command = match build {
            Some((build, line)) => {
                let build = command(Some(build));
                if build.is_some() && !has_source && !wrong {
                    let message = format!("`buildcmd` of {what} has no source to build, and does not run");
                    sink.warn_hint(line, message, "add the code to build as `source`");
                }
                build.filter(|_| has_source)
            }
            None => None,
        };
        if lost && found.is_empty() {
            self.lost.archives.push(name.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        if found.is_empty() && !wrong {
            let hint = "add `source: { url: archive://NAME }`, with the name of an ArchiveUploadSpec";
            sink.wrong_hint(line, format!("{what} has neither a `source` nor a `deployment`"), hint);
        }
        let unit = name.as_ref().map(|_| self.units.len());
        let own = environment.as_ref().map(|environment| environment.name.clone());
        for (slot, bytes, line) in found {
            let (what, place, environment) = (what.clone(), sink.place(line), own.clone());
            self.pending.push(Pending { unit, slot, bytes, what, place, environment });
        }
        let Some(name) = name else { return };
        let put = PackagePut { environment, build_command, ..PackagePut::default() };
        self.add(name, UnitPut::Package(put), Vec::new(), sink.place(line));
    }
}

/// The readable parts of an archive. Empty fields, as tools write them, count as absent.
struct Archive {
    bytes: Option<(Bytes, u64)>,
    /// Whether no mistake was reported.
    right: bool,
    /// Whether it may refer to an archive, but the reference could not be read.
    lost: bool,
}

fn archive(spec: &mut Fields<'_>, key: &str) -> Archive {
    let Some(node) = spec.take(key) else { return Archive { bytes: None, right: true, lost: false } };
    let sink = spec.sink();
    let start = node.line;
    let what = spec.of(key);
    let mut fields = Fields::short(sink, node, start, &what, &ARCHIVE_KEYS, "url");
    let kind = fields.text_at("type").filter(|(kind, _)| !kind.is_empty());
    let oci = fields.take_set("oci").map(|node| node.line);
    let literal = fields.text_at("literal").filter(|(literal, _)| !literal.is_empty());
    let url = fields.text_at("url").filter(|(url, _)| !url.is_empty());
    let checksum = checksum(&mut fields);
    let (no_literal, no_url) = (fields.is_unreadable("literal"), fields.is_unreadable("url"));
    let mut right = !fields.is_wrong && !no_literal && !no_url;
    let mut wrong = |line: u64, message: String, hint: &str| {
        right = false;
        sink.wrong_hint(line, message, hint);
    };
    if let Some(line) = oci.or(kind.as_ref().filter(|(kind, _)| kind == "oci").map(|(_, line)| *line)) {
        wrong(line, format!("{what} is in a container registry, which Milepost does not support"), DOWNLOAD);
    } else if let Some((kind, line)) = kind.filter(|(kind, _)| kind != "literal" && kind != "url") {
        wrong(line, format!("unknown archive type `{kind}`"), "use `literal` or `url`");
    }
    if let (Some(_), Some((_, line))) = (&literal, &url) {
        wrong(*line, format!("{what} has both `literal` and `url`"), "keep one of them");
    }
    let mut bytes = None;
    let is_literal = literal.is_some() || no_literal && !no_url;
    if let Some(((_, line), true)) = checksum.as_ref().map(|checksum| (checksum, literal.is_none())) {
        let message = format!("`checksum` of {what} is not carried over");
        sink.note(*line, message, "the files are read again on every deploy");
    }
    if let Some((literal, line)) = literal {
        let encoded: String = literal.split_whitespace().collect();
        match BASE64.decode(encoded.as_bytes()) {
            Ok(read) => {
                let sum = checksum.map(|(sum, line)| (sum, line, Digest::of(&read).hex()));
                if let Some((_, line, found)) = sum.filter(|(sum, _, found)| !found.eq_ignore_ascii_case(sum)) {
                    let message = format!("`checksum` of {what} does not match the literal, whose SHA-256 is {found}");
                    wrong(line, message, "the literal was changed or truncated: generate both again");
                }
                bytes = Some((Bytes::Literal(read), line));
            }
            Err(_) => {
                let hint = "encode a zip or a file with `base64 -w0 FILE`";
                wrong(line, format!("`literal` of {what} is not valid base64"), hint);
            }
        }
    }
    if let Some((url, line)) = url {
        match url.strip_prefix(ARCHIVE) {
            Some(name) => bytes = Some((Bytes::Archive(name.to_owned()), line)),
            None => wrong(line, format!("`url` of {what}: Milepost does not download `{url}`"), DOWNLOAD),
        }
    }
    let lost = !right && bytes.is_none() && !is_literal;
    Archive { bytes, right, lost }
}

fn checksum(fields: &mut Fields<'_>) -> Option<(String, u64)> {
    let mut checksum = fields.inner("checksum", &CHECKSUM_KEYS);
    let kind = checksum.text_at("type").filter(|(kind, _)| !kind.is_empty());
    let sum = checksum.text_at("sum").filter(|(sum, _)| !sum.is_empty());
    if let Some((kind, line)) = kind.filter(|(kind, _)| kind != "sha256") {
        checksum.sink().wrong_hint(line, format!("unknown checksum type `{kind}`"), "use `sha256`");
        return None;
    }
    sum
}
