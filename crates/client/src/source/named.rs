//! The file name of a source's stat cache.

use std::path::Path;

use milepost_model::digest::{Digest, Hasher};

use super::options::SourceOptions;

/// The file name of the [`super::StatCache`] for what these options read at `path`. Two selections
/// from one folder get separate caches: with a shared one, each scan would evict the entries of the
/// other.
pub fn cache_name(path: &Path, options: &SourceOptions) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut hasher = Hasher::default();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(full.as_os_str().as_encoded_bytes());
    for patterns in [&options.include, &options.exclude] {
        part(&(patterns.len() as u64).to_le_bytes());
        patterns.iter().for_each(|pattern| part(pattern.as_bytes()));
    }
    part(&[options.gitignore.into(), options.keep_hidden.into(), options.keep_archives.into()]);
    let name: Digest = hasher.finish();
    name.hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_options_have_different_caches() {
        let plain = SourceOptions::default();
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let others = [
            SourceOptions { include: texts(&["a"]), ..plain.clone() },
            SourceOptions { exclude: texts(&["a"]), ..plain.clone() },
            SourceOptions { include: texts(&["a", "b"]), ..plain.clone() },
            SourceOptions { include: texts(&["ab"]), ..plain.clone() },
            SourceOptions { gitignore: true, ..plain.clone() },
            plain,
        ];
        let mut names: Vec<String> = others.iter().map(|options| cache_name(Path::new("/"), options)).collect();
        assert_eq!(names[5], cache_name(Path::new("/."), &others[5]));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), others.len());
    }
}
