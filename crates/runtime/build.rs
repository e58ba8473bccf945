//! Generates the list of worker programs that are embedded in the binary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let home = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?).join("workers");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let mut files = Vec::new();
    for runtime in ["python", "node"] {
        println!("cargo::rerun-if-changed=workers/{runtime}");
        list(&home.join(runtime), &mut files)?;
    }
    files.sort();
    let mut text = String::from("static WORKERS: &[(&str, &[u8])] = &[\n");
    for file in files {
        let name = file.strip_prefix(&home).map_err(io::Error::other)?;
        let _ = writeln!(text, "    ({:?}, include_bytes!({:?})),", name.to_string_lossy(), file.to_string_lossy());
    }
    text.push_str("];\n");
    fs::write(out.join("workers.rs"), text)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "__pycache__" | "tests" | "test" | "node_modules") {
                list(&path, files)?;
            }
        } else if matches!(path.extension().and_then(|end| end.to_str()), Some("py" | "mjs" | "js" | "cjs" | "json")) {
            files.push(path);
        }
    }
    Ok(())
}
