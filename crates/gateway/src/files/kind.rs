//! Content types by file extension.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The content type of a file, and whether compressing it pays.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) content_type: &'static str,
    pub(crate) compressible: bool,
}

static UNKNOWN: Kind = Kind { content_type: "application/octet-stream", compressible: false };

/// One leaked `Kind` per content type in use, so that files can keep a reference. The set of known
/// types bounds what is leaked.
static KINDS: LazyLock<Mutex<HashMap<&'static str, &'static Kind>>> = LazyLock::new(Mutex::default);

/// Overrides where the table of `mime_guess` is outdated or less precise than browsers need.
fn ours(ending: &str) -> Option<&'static str> {
    Some(match ending {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" | "cjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "jsonld" => "application/ld+json",
        "geojson" => "application/geo+json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "md" | "markdown" => "text/markdown; charset=utf-8",
        "yaml" | "yml" => "application/yaml",
        "svg" => "image/svg+xml",
        "ico" => "image/x-icon",
        "avif" => "image/avif",
        "webp" => "image/webp",
        "wasm" => "application/wasm",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ => return None,
    })
}

/// Returns the kind of a file by its path.
pub(crate) fn of(path: &str) -> &'static Kind {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let Some((_, ending)) = name.rsplit_once('.') else { return &UNKNOWN };
    let ending = ending.to_ascii_lowercase();
    let found = ours(&ending).or_else(|| mime_guess::from_ext(&ending).first_raw());
    let Some(plain) = found else { return &UNKNOWN };
    let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    kinds.entry(plain).or_insert_with(|| {
        let in_utf8 = plain.starts_with("text/") && !plain.contains("charset");
        let content_type = if in_utf8 { String::leak(format!("{plain}; charset=utf-8")) } else { plain };
        Box::leak(Box::new(Kind { content_type, compressible: compressible(plain) }))
    })
}

fn compressible(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or(content_type);
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence,
            "application/json"
                | "application/yaml"
                | "application/xml"
                | "application/javascript"
                | "application/wasm"
                | "application/rtf"
                | "application/x-sh"
                | "application/sql"
                | "application/toml"
                | "application/vnd.ms-fontobject"
                | "font/ttf"
                | "font/otf"
                | "image/x-icon"
                | "image/bmp"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_map_to_content_types() {
        for (path, content_type, pressed) in [
            ("index.html", "text/html; charset=utf-8", true),
            ("a/B.HTML", "text/html; charset=utf-8", true),
            ("app.js", "text/javascript; charset=utf-8", true),
            ("app.mjs", "text/javascript; charset=utf-8", true),
            ("app.js.map", "application/json", true),
            ("data.json", "application/json", true),
            ("logo.svg", "image/svg+xml", true),
            ("x.wasm", "application/wasm", true),
            ("x.woff2", "font/woff2", false),
            ("x.ttf", "font/ttf", true),
            ("site.webmanifest", "application/manifest+json", true),
            ("x.csv", "text/csv; charset=utf-8", true),
            ("x.png", "image/png", false),
            ("x.jpg", "image/jpeg", false),
            ("x.pdf", "application/pdf", false),
            ("x.mp4", "video/mp4", false),
            ("x.zip", "application/zip", false),
            ("a.b/none", "application/octet-stream", false),
            ("x.never-heard-of", "application/octet-stream", false),
            ("", "application/octet-stream", false),
        ] {
            let kind = of(path);
            assert_eq!((kind.content_type, kind.compressible), (content_type, pressed), "{path}");
        }
        assert!(std::ptr::eq(of("a.html"), of("b.htm")));
    }
}
