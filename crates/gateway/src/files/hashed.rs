//! Detects files with a content hash in their names, as bundlers write them. Caches may keep those
//! forever.
//!
//! A false positive is worse than a miss, because browsers would keep the old file for a year. So a
//! name is accepted on its own only if it cannot be a word, a number or a date. Base64 hashes
//! (Vite, Rollup) often look like words: less certain ones are accepted only if other scripts and
//! styles in the same directory are hashed.

use std::collections::HashMap;

/// Lengths of hexadecimal hashes in use, from CRC-32 to SHA-256.
const HEX_LENGTHS: [usize; 8] = [8, 10, 12, 16, 20, 32, 40, 64];
/// Length of the hashes of Vite, Rollup and esbuild.
const SHORT: usize = 8;
/// May appear between the hash and the extension.
const QUALIFIERS: [&str; 4] = ["bundle", "chunk", "min", "module"];
const SCRIPTS: [&str; 4] = ["cjs", "css", "js", "mjs"];
const ASSETS: [&str; 21] = [
    "avif", "eot", "gif", "ico", "jpeg", "jpg", "json", "m4a", "mp3", "mp4", "ogg", "otf", "png", "svg", "ttf", "wasm",
    "wav", "webm", "webp", "woff", "woff2",
];
/// SvelteKit puts only immutable files into this directory.
const IMMUTABLE_FOLDER: &str = "_app/immutable/";
/// Directories where the whole name may be a hash (Next, Nuxt).
const BARE_FOLDERS: [&str; 4] = ["_next/static/chunks/", "_next/static/css/", "_next/static/media/", "_nuxt/"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    Ordinary,
    /// A hash if the other files of its directory are hashed.
    Possible,
    Hashed,
}

/// Returns for each path of a tree whether its name contains a content hash.
pub(crate) fn hashed<'p>(paths: impl Iterator<Item = &'p str> + Clone) -> Vec<bool> {
    let mut folders: HashMap<&str, Tally> = HashMap::new();
    for path in paths.clone() {
        let (folder, name) = split(path);
        if is_script(name) {
            folders.entry(folder).or_default().add(look(path));
        }
    }
    let is_hashed = |path: &str| match look(path) {
        Look::Hashed => true,
        Look::Possible => folders.get(split(path).0).is_some_and(Tally::is_of_hashed),
        Look::Ordinary => false,
    };
    paths.map(is_hashed).collect()
}

/// Counts the scripts and styles of one directory.
#[derive(Default)]
struct Tally {
    all: usize,
    fitting: usize,
    hashed: usize,
}

impl Tally {
    fn add(&mut self, look: Look) {
        self.all += 1;
        self.fitting += usize::from(look >= Look::Possible);
        self.hashed += usize::from(look == Look::Hashed);
    }

    fn is_of_hashed(&self) -> bool {
        let most = self.fitting * 2 >= self.all;
        (self.hashed > 0 && most) || (self.fitting > 1 && self.fitting == self.all)
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name))
}

fn is_script(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| SCRIPTS.contains(&ending))
}

/// Whether a file is in a directory of this name, at any depth.
fn is_below(path: &str, folder: &str) -> bool {
    path.match_indices(folder).any(|(at, _)| at == 0 || path.as_bytes()[at - 1] == b'/')
}

fn look(path: &str) -> Look {
    if is_below(path, IMMUTABLE_FOLDER) {
        return Look::Hashed;
    }
    let (_, name) = split(path);
    let Some((mut stem, ending)) = name.rsplit_once('.') else { return Look::Ordinary };
    let mut is_script = SCRIPTS.contains(&ending);
    // `main.3f2a9c1b.js.map`, `main.3f2a9c1b.js.LICENSE.txt`
    let beside = if ending == "txt" { stem.strip_suffix(".LICENSE") } else { Some(stem).filter(|_| ending == "map") };
    if let Some((inner, _)) =
        beside.and_then(|inner| inner.rsplit_once('.')).filter(|(_, inner)| SCRIPTS.contains(inner))
    {
        (stem, is_script) = (inner, true);
    }
    if !is_script && !ASSETS.contains(&ending) {
        return Look::Ordinary;
    }
    while let Some((before, _)) = stem.rsplit_once('.').filter(|(_, last)| QUALIFIERS.contains(last)) {
        stem = before;
    }
    let bare = BARE_FOLDERS.iter().any(|folder| is_below(path, folder));
    hex(stem, bare).max(short(stem, bare, is_script))
}

/// `main.3f2a9c1b`, `app-1a2b3c4d5e6f7081`
fn hex(stem: &str, bare: bool) -> Look {
    // Next writes `HASH-s.p.woff2` for fonts.
    let first = stem.split(['-', '.']).next().filter(|_| bare).unwrap_or_default();
    let last = match stem.rsplit_once(['-', '.']) {
        Some((before, last)) if !before.is_empty() => last,
        _ if bare => stem,
        _ => return Look::Ordinary,
    };
    let is_hash = (is_hex_hash(last) && !is_uuid(stem)) || (first.len() >= 16 && is_hex_hash(first));
    if is_hash { Look::Hashed } else { Look::Ordinary }
}

fn is_hex_hash(token: &str) -> bool {
    let bytes = token.as_bytes();
    if !HEX_LENGTHS.contains(&bytes.len()) || !bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return false;
    }
    let is_digit = u8::is_ascii_digit;
    // Not a number or a word, nor one followed by the other: `20261118`, `deadbeef`, `cafe2024`,
    // `2024cafe`.
    let turns = bytes.windows(2).filter(|pair| is_digit(&pair[0]) != is_digit(&pair[1])).count();
    // Not a counter or a colour: `0000001f`, `ff8800cc`.
    let repeats = bytes.windows(4).any(|four| four.iter().all(|byte| *byte == four[0]));
    let mut kinds = bytes.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    // A date with a suffix: `20261118ab`.
    let is_date = (token.starts_with("19") || token.starts_with("20")) && bytes[..8].iter().all(is_digit);
    turns >= 2 && !repeats && kinds.len() > 4 && !is_date
}

/// Also matches a UUID with a name in front.
fn is_uuid(stem: &str) -> bool {
    let Some(tail) = stem.len().checked_sub(36).and_then(|at| stem.get(at..)) else { return false };
    tail.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && tail.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// `index-DsBhw8EC`, `chunk-ABCDEFGH`
fn short(stem: &str, bare: bool, is_script: bool) -> Look {
    let Some((before, token)) = stem.len().checked_sub(SHORT).and_then(|at| stem.split_at_checked(at)) else {
        return Look::Ordinary;
    };
    let is_apart = before.len() > 1 && before.ends_with(['-', '.']);
    if !(is_apart || bare && before.is_empty())
        || !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    {
        return Look::Ordinary;
    }
    let has = |kind: fn(&u8) -> bool| token.as_bytes().iter().any(kind);
    let (upper, lower, digit) = (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase), has(u8::is_ascii_digit));
    let look = if upper && !lower {
        base32(before, token)
    } else if upper && digit && changes(token) >= if is_camel(token) { 6 } else { 5 } {
        Look::Hashed
    } else if !upper || is_camel(token) {
        Look::Ordinary
    } else {
        Look::Possible
    };
    // Names of images vary more than those of scripts: `scan-macOS13x`, `badge-iOSphone`.
    let least = if digit { 4 } else { 3 };
    match look {
        look if is_script => look,
        Look::Hashed => Look::Possible,
        Look::Possible if changes(token) >= least => Look::Possible,
        _ => Look::Ordinary,
    }
}

/// esbuild writes its hashes in capital letters and the digits 2 to 7.
fn base32(before: &str, token: &str) -> Look {
    let bytes = token.as_bytes();
    if !bytes.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')) {
        return Look::Ordinary;
    }
    let turns = bytes.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    match turns {
        // esbuild's name for code that several entry points share.
        _ if before == "chunk-" => Look::Hashed,
        3.. => Look::Hashed,
        // `VERSION2`, `OVERVIEW`
        2 => Look::Possible,
        _ => Look::Ordinary,
    }
}

/// Camel case, with digits after some words: `MainPage`, `signInUp`, `Html5Doc`.
fn is_camel(token: &str) -> bool {
    let bytes = token.as_bytes();
    let two_capitals = bytes.windows(2).any(|pair| pair.iter().all(u8::is_ascii_uppercase));
    let ends_in_capital = bytes.last().is_some_and(u8::is_ascii_uppercase);
    let divided = bytes.iter().any(|byte| matches!(byte, b'-' | b'_'));
    !two_capitals && !ends_in_capital && !divided
}

/// Counts how often neighbouring characters differ in kind: upper case, lower case, digit or other.
fn changes(token: &str) -> usize {
    let kind = |byte: &u8| match byte {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    token.as_bytes().windows(2).filter(|pair| kind(&pair[0]) != kind(&pair[1])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a file that is alone in its directory.
    fn alone(path: &str) -> bool {
        hashed([path].into_iter()) == [true]
    }

    #[test]
    fn detects_hashes_of_bundlers() {
        for path in [
            // Vite, Rollup
            "assets/index-DsBhw8EC.js",
            "assets/index-B3x_9aQz.css",
            "assets/vendor-D4-x1aB2.js",
            "assets/index-DsBhw8EC.js.map",
            "assets/polyfills-legacy-C8aF2kQ1.js",
            "assets/index.a1b2c3d4.js",
            // webpack, CRA, Vue CLI
            "static/css/main.3f2a9c1b.css",
            "static/js/main.3f2a9c1b.js",
            "static/js/main.3f2a9c1b.js.LICENSE.txt",
            "static/js/main.3f2a9c1b.js.map",
            "static/js/787.a1b2c3d4.chunk.js",
            "static/media/logo.6ce24c58023cc2f8fd88fe9d219db6c6.svg",
            "js/chunk-vendors.4f3c21ab.js",
            "js/app.1a2b3c4d5e.js",
            "main.1b9f0c7a2d3e4f5a6b7c.js",
            "main.d41d8cd98f00b204e980.bundle.js",
            // esbuild, Angular
            "chunk-ABCDEFGH.js",
            "chunk-7HXCLRWY.js",
            "main-5QX5AQ3N.js",
            // Parcel
            "index.8f2c1a4e.js",
            "photo.a2b27638.jpg",
            // Next, Nuxt, Gatsby
            "_next/static/chunks/main-app-1a2b3c4d5e6f7081.js",
            "_next/static/chunks/4bd1b696-182b6b13bdad92e3.js",
            "_next/static/css/0a1b2c3d4e5f6071.css",
            "_next/static/media/a34f9d1faa5f3315-s.p.woff2",
            "out/_next/static/chunks/0d3ab0fcd0ba4d9c.js",
            "_nuxt/DsBhw8EC.js",
            "component---src-pages-index-js-1a2b3c4d5e6f70819a0b.js",
            // SvelteKit, Astro
            "_app/immutable/chunks/abcdefgh.js",
            "_app/immutable/nodes/0.BwPaxQrv.js",
            "_astro/hoisted.C5uXw5qf.js",
            // Django, Rails
            "admin/base.27e20196a850.css",
            "application-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.js",
        ] {
            assert!(alone(path), "{path} is not taken for hashed");
        }
    }

    #[test]
    fn ordinary_names_are_not_hashed() {
        for path in [
            "index.html",
            "app.js",
            "main.css",
            "favicon.ico",
            "robots.txt",
            "jquery-3.7.1.min.js",
            "bootstrap-5.3.3.bundle.min.js",
            "vue-2.7.16.common.js",
            "lib.es2015.js",
            "polyfills-es5.js",
            "background-image.png",
            "document-template.js",
            "app-settings.js",
            "app.settings.js",
            "user-Settings.js",
            "page-MainPage.js",
            "page-SignInUp.js",
            "page-iPhone15.js",
            "app-Windows7.js",
            "doc-Html5Doc.js",
            "mp-Mp3Audio.js",
            "api-K8sNodes.js",
            "theme-OVERVIEW.js",
            "model-VERSION2.js",
            "docs-CHANGELOG.js",
            "report-20261118.pdf",
            "report-20261118.json",
            "backup-20261118ab.json",
            "photo-2026-11-18.jpg",
            "IMG-20261118-WA0001.jpg",
            "IMG_20261118_101112.jpg",
            "DSC-FINAL234.png",
            "scan-H264DEMO.mp4",
            "image-1920x1080.png",
            "cache-1763500000.json",
            "frame-0000001f.png",
            "part-00000001.json",
            "theme-deadbeef.css",
            "theme-decade80.css",
            "menu-cafe2024.css",
            "menu-2024cafe.css",
            "swatch-ff8800cc.svg",
            "swatch-ff0000ff.svg",
            "avatar-3f2a9c1b-1234-4abc-8def-1a2b3c4d5e6f.png",
            "3f2a9c1b-1234-4abc-8def-1a2b3c4d5e6f.png",
            "3f2a9c1b.js",
            "DsBhw8EC.js",
            "0a1b2c3d4e5f6071.css",
            "-DsBhw8EC.js",
            "DsBhw8EC-index.js",
            "page-DsBhw8EC.html",
            "archive-3f2a9c1b.zip",
            "notes-3f2a9c1b.txt",
            "report.3f2a9c1b.pdf",
            "main.3f2a9c1b",
            "main.3F2A9C1B.js",
            "main.3f2a9c1.js",
            "main.3f2a9c1b0.js",
            "3f2a9c1b/main.js",
            "index-DsBhw8EC/main.js",
            "logo-DsBhw8EC.png",
            "logo-BrandNew.png",
            "my_app/immutable.js",
            "my_nuxt/DsBhw8EC.js",
            "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}.js",
            "a.-.js",
            ".js",
            "",
        ] {
            assert!(!alone(path), "{path} is taken for hashed");
        }
    }

    #[test]
    fn hashed_scripts_confirm_possible_hashes_in_their_directory() {
        let of = |paths: &[&'static str]| {
            let found = hashed(paths.iter().copied());
            paths.iter().copied().zip(found).filter_map(|(path, hashed)| hashed.then_some(path)).collect::<Vec<_>>()
        };
        // Vite's output, with files of `public/assets` among it.
        let vite = [
            "assets/index-DsBhw8EC.js",
            "assets/index-BUBLEmxS.css",
            "assets/logo-Cv4Lw_2x.svg",
            "assets/hero-CLDdwZDr.png",
            "assets/logo-BrandNew.png",
            "assets/scan-macOS13x.png",
            "assets/badge-iOSphone.png",
            "assets/widget-BrandNew.js",
            "assets/user-settings.js",
            "other/index-BUBLEmxS.css",
            "index.html",
        ];
        assert_eq!(of(&vite), vite[..4]);
        // Two possible hashes, and no other script.
        assert_eq!(of(&["assets/index-BUBLEmxS.css", "assets/index-CqRDxmVE.js"]).len(), 2);
        assert!(of(&["js/a-OpenAPIs.js", "js/b-settings.js", "js/c.js"]).is_empty());
    }
}
