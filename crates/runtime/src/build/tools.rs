//! Writes the programs that come first on a build's `PATH`: those of the interpreter that functions
//! of the same environment run with.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use milepost_model::spec::Runtime;

use crate::sandbox::interpreters::Interpreter;

/// Follows the tools and the interpreter's own directory.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Writes the programs into a directory. They are scripts rather than symlinks, because a virtual
/// environment is located by the path its interpreter is invoked with.
pub(super) fn write(folder: &Path, runtime: Runtime, interpreter: &Interpreter) -> io::Result<()> {
    let real = quoted(&interpreter.program.to_string_lossy());
    let programs: &[(&str, &str)] = match runtime {
        Runtime::Python => &[("python3", ""), ("python", ""), ("pip", " -m pip"), ("pip3", " -m pip")],
        Runtime::Node => &[("node", "")],
        Runtime::Binary | Runtime::Wasm => &[],
    };
    for (name, arguments) in programs {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\nexec {real}{arguments} \"$@\"\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o555))?;
    }
    Ok(())
}

/// The `PATH` of a build that sees its tools at `tools`.
pub(super) fn search_path(tools: &Path, interpreter: Option<&Interpreter>) -> String {
    // The interpreter's directory holds the programs that came with it, such as npm.
    let beside = interpreter.and_then(|found| found.program.parent()).filter(|folder| !folder.starts_with("/usr/bin"));
    let folders = [Some(tools), beside].into_iter().flatten().map(|folder| folder.to_string_lossy().into_owned());
    folders.chain([SYSTEM_PATH.to_owned()]).collect::<Vec<_>>().join(":")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_special_characters_in_the_programs_path() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("it's a $HOME");
        fs::create_dir(&odd).unwrap();
        let program = odd.join("node");
        fs::write(&program, "#!/bin/sh\necho \"ran with $1\"\n").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let interpreter = Interpreter { program, version: "1".to_owned(), readable: Vec::new() };
        write(folder.path(), Runtime::Node, &interpreter).unwrap();
        let said = std::process::Command::new(folder.path().join("node")).arg("a b").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "ran with a b\n");
    }
}
