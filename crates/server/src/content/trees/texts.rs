//! Line diffs of text files.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use milepost_catalog::BlobRow;
use milepost_model::Digest;
use milepost_model::diff::UnitDiff;
use milepost_model::plan::{Reason, are_built};
use milepost_model::tree::{FileChange, FileChangeKind, TextOmitted};
use similar::TextDiff;

use super::{READS_AT_ONCE, location, not_here};
use crate::error::{ApiResult, internal};
use crate::state::Store;

/// Larger files are seldom written by hand, and their diffs are seldom read.
const MAX_SIDE: u64 = 256 << 10;
/// Maximum diff text of one response.
const MAX_TEXT: usize = 1 << 20;
/// Maximum files compared for one response.
const MAX_FILES: usize = 200;
const CONTEXT: usize = 3;
/// After this, the rest is compared coarsely: the diff stays correct, but may not be the shortest.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Fills in `text`, or why it is omitted.
pub(crate) async fn add(store: &Store, changes: &mut [UnitDiff]) -> ApiResult<()> {
    let mut wanted = Vec::new();
    for file in in_order(changes) {
        let Some(pair) = Pair::of(file) else { continue };
        if file.size_before.max(file.size_after) > Some(MAX_SIDE) {
            file.text_omitted = Some(TextOmitted::Large);
        } else if wanted.len() == MAX_FILES {
            file.text_omitted = Some(TextOmitted::Limit);
        } else {
            wanted.push((file, pair));
        }
    }
    let (files, pairs): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    let digests: BTreeSet<Digest> = pairs.iter().flat_map(|pair| [pair.before, pair.after]).flatten().collect();
    let rows = store.catalog.blob_locate(digests.into_iter().collect()).await?;
    let rows: HashMap<Digest, BlobRow> = rows.into_iter().map(|row| (row.digest, row)).collect();

    let deadline = Instant::now() + TIME_LIMIT;
    let mut compared =
        stream::iter(pairs.into_iter().map(|pair| compare(store, &rows, pair, deadline))).buffered(READS_AT_ONCE);
    let mut left = MAX_TEXT;
    let mut is_full = false;
    for file in files {
        if is_full {
            file.text_omitted = Some(TextOmitted::Limit);
            continue;
        }
        match compared.next().await.transpose()? {
            Some(Ok(text)) if text.len() > left => {
                is_full = true;
                file.text_omitted = Some(TextOmitted::Limit);
            }
            Some(Ok(text)) => {
                left -= text.len();
                // The diff of an empty file has no lines.
                file.text = Some(text).filter(|text| !text.is_empty());
            }
            Some(Err(omitted)) => file.text_omitted = Some(omitted),
            None => {}
        }
    }
    Ok(())
}

/// Hand-written files before build results, so that the limits omit build results first.
fn in_order(changes: &mut [UnitDiff]) -> Vec<&mut FileChange> {
    let (mut written, mut built) = (Vec::new(), Vec::new());
    for change in changes {
        let fields: Vec<bool> = change.reasons.iter().map(|reason| is_built(reason, &change.reasons)).collect();
        for (reason, is_built) in change.reasons.iter_mut().zip(fields) {
            let Reason::Files { files, .. } = reason else { continue };
            if is_built { &mut built } else { &mut written }.extend(files);
        }
    }
    written.extend(built);
    written
}

fn is_built(reason: &Reason, all: &[Reason]) -> bool {
    matches!(reason, Reason::Files { field, .. } if are_built(field, all))
}

/// Two files to compare. A missing side counts as empty.
struct Pair {
    path: String,
    before: Option<Digest>,
    after: Option<Digest>,
}

impl Pair {
    /// Returns `None` if the bytes are the same or a link is involved.
    fn of(file: &FileChange) -> Option<Self> {
        let has_text = match file.change {
            FileChangeKind::Added => file.after.is_some(),
            FileChangeKind::Removed => file.before.is_some(),
            FileChangeKind::Changed => file.before.is_some() && file.after.is_some(),
            FileChangeKind::Moved | FileChangeKind::Mode => false,
        };
        has_text.then(|| Self { path: file.path.clone(), before: file.before, after: file.after })
    }
}

async fn compare(
    store: &Store,
    rows: &HashMap<Digest, BlobRow>,
    pair: Pair,
    deadline: Instant,
) -> ApiResult<Result<String, TextOmitted>> {
    let before = read(store, rows, pair.before).await?;
    let after = read(store, rows, pair.after).await?;
    let comparing = tokio::task::spawn_blocking(move || {
        let (before, after) = (text(&before)?, text(&after)?);
        Ok(unified(&pair, before, after, deadline))
    });
    comparing.await.map_err(|error| internal(&error))
}

async fn read(store: &Store, rows: &HashMap<Digest, BlobRow>, digest: Option<Digest>) -> ApiResult<Bytes> {
    let Some(digest) = digest else { return Ok(Bytes::new()) };
    let row = rows.get(&digest).ok_or_else(|| not_here(digest))?;
    Ok(store.blobs.read(&location(row)?, digest).await?)
}

fn text(bytes: &[u8]) -> Result<&str, TextOmitted> {
    let text = std::str::from_utf8(bytes).map_err(|_| TextOmitted::Binary)?;
    if text.contains('\0') { Err(TextOmitted::Binary) } else { Ok(text) }
}

/// Splits lines at `\n` only, as all tools that read such diffs do. `similar` by default also
/// splits at `\r`.
fn unified(pair: &Pair, before: &str, after: &str, deadline: Instant) -> String {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (before, after) = (lines(before), lines(after));
    let diff = TextDiff::configure().deadline(deadline).diff_slices(&before, &after);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        if text.is_empty() {
            let name = |side: char, digest: Option<Digest>| match digest {
                Some(_) => header_name(side, &pair.path),
                None => "/dev/null".to_owned(),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "--- {}\n+++ {}", name('a', pair.before), name('b', pair.after));
        }
        let _ = writeln!(text, "{}", hunk.header());
        for change in hunk.iter_changes() {
            let _ = write!(text, "{}{}", change.tag(), change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// Formats a file name as git does: quoted if it would break its line, followed by a tab if it
/// contains a space.
fn header_name(side: char, path: &str) -> String {
    if path.contains(|letter: char| letter.is_control() || letter == '"') {
        let mut quoted = format!("\"{side}/");
        for letter in path.chars() {
            match letter {
                '"' => quoted.push_str("\\\""),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                letter if letter.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in letter.encode_utf8(&mut bytes).bytes() {
                        let _ = write!(quoted, "\\{byte:03o}");
                    }
                }
                letter => quoted.push(letter),
            }
        }
        return quoted + "\"";
    }
    let end = if path.contains(' ') { "\t" } else { "" };
    format!("{side}/{path}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(path: &str, before: Option<&str>, after: Option<&str>) -> String {
        let digest = |text: Option<&str>| text.map(|text| Digest::of(text.as_bytes()));
        let pair = Pair { path: path.to_owned(), before: digest(before), after: digest(after) };
        let deadline = Instant::now() + TIME_LIMIT;
        unified(&pair, before.unwrap_or_default(), after.unwrap_or_default(), deadline)
    }

    #[test]
    fn diffs_have_three_lines_of_context() {
        let text = compared("a.txt", Some("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), Some("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"));
        let expected = "--- a/a.txt\n+++ b/a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn added_and_removed_files_compare_with_dev_null() {
        assert_eq!(compared("a", None, Some("x\n")), "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(compared("a", Some("x\n"), None), "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
        assert_eq!(compared("a", None, Some("")), "");
    }

    #[test]
    fn marks_missing_newlines_and_ignores_carriage_returns() {
        let text = compared("a", Some("x\ry\r"), Some("x\ry\n"));
        assert_eq!(text, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\ry\r\n\\ No newline at end of file\n+x\ry\n");
    }

    #[test]
    fn quotes_names_that_would_break_the_header() {
        assert_eq!(header_name('a', "my file"), "a/my file\t");
        assert_eq!(header_name('b', "x\n+++ b/y\u{1b}\"z"), "\"b/x\\n+++ b/y\\033\\\"z\"");
    }

    #[test]
    fn invalid_utf8_and_nul_are_binary() {
        assert_eq!(text(&[0xff, 0xfe]), Err(TextOmitted::Binary));
        assert_eq!(text(b"a\0b"), Err(TextOmitted::Binary));
        assert_eq!(text("ü\n".as_bytes()), Ok("ü\n"));
    }
}
