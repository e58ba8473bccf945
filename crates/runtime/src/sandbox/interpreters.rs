//! Finds the interpreters of this machine and the directories that they need inside the sandbox.
//!
//! Each candidate is executed to identify itself, because a name on `PATH` may be a shim that
//! starts another program (pyenv, asdf, nvm). Workers always run the real one. This takes tens of
//! milliseconds, so answers are cached for the life of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use milepost_model::spec::Runtime;
use serde::Deserialize;

const LONGEST_VERSION: usize = 32;
/// Maximum number of cached answers.
const MOST_ANSWERS: usize = 64;
/// A pseudo version that matches all installed versions, including those that a shim does not
/// select.
const EVERY: &str = "*";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The real interpreter, never a shim.
    pub program: PathBuf,
    pub version: String,
    /// Directories besides the system's that a worker must see for it to run.
    pub readable: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterpreterError {
    #[error(
        "no {runtime} interpreter is on the server's PATH: install one, or start the server with a PATH that has it"
    )]
    None { runtime: Runtime },
    #[error("{runtime} {asked} is not on the server's PATH; there is {found}: install it, or ask for one of these")]
    NotThatVersion { runtime: Runtime, asked: String, found: String },
    #[error("`{asked}` is not a version of {runtime}; write it like `{example}`", example = example(*.runtime))]
    NotAVersion { runtime: Runtime, asked: String },
    #[error(
        "{runtime} {found} is not supported; Milepost needs {runtime} {least} or newer: install one, or ask for it"
    )]
    TooOld { runtime: Runtime, found: String, least: String },
    #[error("{runtime} functions need no interpreter")]
    NotInterpreted { runtime: Runtime },
    /// Showing it to workers would show them files that are not for them.
    #[error(
        "{program} cannot run here, because workers would have to see {folder}, which {why}: install {runtime} elsewhere, for \
         example in /usr/local"
    )]
    Exposing { runtime: Runtime, program: String, folder: String, why: &'static str },
}

/// Finds the newest interpreter that matches `asked`: a version or its beginning, such as `3`,
/// `3.11` or `20`. Empty means the newest installed. The first call blocks until all candidates
/// have answered.
pub fn find(runtime: Runtime, asked: &str) -> Result<Interpreter, InterpreterError> {
    find_among(runtime, asked, |_| Ok(()))
}

/// Like [`find`], without interpreters that `check` rejects. Returns its first error if it rejects
/// all that match.
pub(super) fn find_among(
    runtime: Runtime,
    asked: &str,
    check: impl Fn(&Interpreter) -> Result<(), InterpreterError>,
) -> Result<Interpreter, InterpreterError> {
    let asked = asked.trim().trim_start_matches('v');
    if !looks_like_a_version(asked) {
        let asked = asked.chars().take(LONGEST_VERSION).collect();
        return Err(InterpreterError::NotAVersion { runtime, asked });
    }
    let found = all(runtime, asked)?;
    let least = kind(runtime)?.least;
    let mut rejected = None;
    for best in found.iter().filter(|one| is_version(&one.version, asked)) {
        if numbers(&best.version).as_slice() < least {
            let least = least.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
            return Err(rejected.unwrap_or(InterpreterError::TooOld { runtime, found: best.version.clone(), least }));
        }
        match check(best) {
            Ok(()) => return Ok(best.clone()),
            Err(error) => rejected = rejected.or(Some(error)),
        }
    }
    if let Some(error) = rejected {
        return Err(error);
    }
    if found.is_empty() {
        return Err(InterpreterError::None { runtime });
    }
    // Includes versions that a version manager has installed but not selected: they can be
    // requested.
    let found = listed(&all(runtime, EVERY)?, least);
    Err(InterpreterError::NotThatVersion { runtime, asked: asked.to_owned(), found })
}

/// The versions that can be requested.
fn listed(installed: &[Interpreter], least: &[u32]) -> String {
    let supported: Vec<_> = installed.iter().filter(|one| numbers(&one.version).as_slice() >= least).collect();
    let lines = supported.iter().map(|one| format!("{} ({})", one.version, one.program.display()));
    if supported.is_empty() { "no supported version".to_owned() } else { lines.collect::<Vec<_>>().join(", ") }
}

/// Name and version of the package installer of an interpreter, or `None` if it is missing. Blocks
/// while it runs.
pub fn installer(runtime: Runtime, interpreter: &Interpreter) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let output = match runtime {
        Runtime::Python => Command::new(&interpreter.program).args(["-I", "-m", "pip", "--version"]).output(),
        Runtime::Node => {
            // npm's script runs `node` from `PATH`, so the npm beside the interpreter is preferred.
            let beside = interpreter.program.parent().map(Path::to_owned);
            let folders = beside.into_iter().chain(std::env::split_paths(&path));
            let npm = folders.map(|folder| folder.join("npm")).find(|npm| npm.is_file())?;
            Command::new(npm).arg("--version").output()
        }
        Runtime::Binary | Runtime::Wasm => return None,
    };
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    // pip prints `pip 24.0 from …`, npm only `10.2.3`.
    let version = text.split_whitespace().find(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))?;
    Some(format!("{} {version}", if runtime == Runtime::Python { "pip" } else { "npm" }))
}

/// Every interpreter on `PATH`, newest first. Equal versions keep the order of `PATH`.
fn all(runtime: Runtime, asked: &str) -> Result<Arc<[Interpreter]>, InterpreterError> {
    /// Filled by the first caller. Only callers with the same question wait for it.
    type Answers = Arc<OnceLock<Arc<[Interpreter]>>>;
    static FOUND: Mutex<BTreeMap<(&'static str, String), Answers>> = Mutex::new(BTreeMap::new());
    let kind = kind(runtime)?;
    // The requested version matters only to shims.
    let key = if search_path().any(|folder| is_shims(&folder)) { asked } else { "" };
    let answers = {
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() >= MOST_ANSWERS {
            found.retain(|(_, asked), _| asked.is_empty());
        }
        Arc::clone(found.entry((kind.name, key.to_owned())).or_default())
    };
    Ok(Arc::clone(answers.get_or_init(|| kind.look(key).into())))
}

fn kind(runtime: Runtime) -> Result<&'static Kind, InterpreterError> {
    match runtime {
        Runtime::Python => Ok(&PYTHON),
        Runtime::Node => Ok(&NODE),
        Runtime::Binary | Runtime::Wasm => Err(InterpreterError::NotInterpreted { runtime }),
    }
}

fn example(runtime: Runtime) -> &'static str {
    if runtime == Runtime::Node { "20" } else { "3.11" }
}

/// Validates the requested version: it is user input, and each new one runs all interpreters.
fn looks_like_a_version(asked: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '+' | '_');
    asked.is_empty()
        || (asked.len() <= LONGEST_VERSION
            && asked.starts_with(|first: char| first.is_ascii_digit())
            && asked.chars().all(allowed))
}

fn search_path() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

fn is_shims(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "shims")
}

struct Kind {
    /// The command name.
    name: &'static str,
    /// The oldest version that the worker programs support.
    least: &'static [u32],
    is_candidate: fn(&str) -> bool,
    /// Arguments that make it print one line of JSON: an [`Answer`].
    question: [&'static str; 2],
}

const PYTHON: Kind = Kind {
    name: "python3",
    least: &[3, 9],
    is_candidate: |name| {
        name.strip_prefix("python3").is_some_and(|rest| {
            rest.strip_prefix('.').map_or(rest.is_empty(), |minor| minor.bytes().all(|byte| byte.is_ascii_digit()))
        })
    },
    question: [
        "-Ic",
        "import json, platform, sys; print(json.dumps({'program': sys.executable, 'version': \
         platform.python_version(), 'folders': [sys.prefix, sys.base_prefix, sys.base_exec_prefix]}))",
    ],
};

const NODE: Kind = Kind {
    name: "node",
    least: &[18],
    is_candidate: |name| matches!(name, "node" | "nodejs"),
    question: [
        "-e",
        "const path = require('path'), program = process.execPath; console.log(JSON.stringify({program, version: \
         process.versions.node, folders: [path.dirname(path.dirname(program))]}))",
    ],
};

#[derive(Deserialize)]
struct Answer {
    program: PathBuf,
    version: String,
    folders: Vec<PathBuf>,
}

impl Kind {
    fn look(&self, asked: &str) -> Vec<Interpreter> {
        let (mut seen, mut found) = (BTreeSet::new(), Vec::<Interpreter>::new());
        for candidate in self.candidates(asked) {
            // A program and symlinks to it count once.
            if candidate.canonicalize().is_ok_and(|real| seen.insert(real))
                && let Some(one) = self.ask(&candidate)
                && !found.iter().any(|other| other.program == one.program)
            {
                found.push(one);
            }
        }
        found.sort_by_key(|one| std::cmp::Reverse(numbers(&one.version)));
        found
    }

    fn candidates(&self, asked: &str) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        for folder in search_path() {
            if is_shims(&folder) {
                candidates.extend(self.behind_shims(&folder, asked));
                continue;
            }
            let mut names = names_in(&folder);
            names.retain(|name| (self.is_candidate)(name));
            candidates.extend(names.iter().map(|name| folder.join(name)));
        }
        candidates
    }

    /// A shim starts the selected version. Another requested version may be installed without being
    /// selected. Shims are slow, so only the main one is executed.
    fn behind_shims(&self, folder: &Path, asked: &str) -> Vec<PathBuf> {
        let mut candidates = vec![folder.join(self.name)];
        if let Some(versions) = folder.parent().map(|root| root.join("versions")).filter(|_| !asked.is_empty()) {
            let installed =
                names_in(&versions).into_iter().filter(|version| asked == EVERY || is_version(version, asked));
            candidates.extend(installed.map(|version| versions.join(version).join("bin").join(self.name)));
        }
        candidates
    }

    fn ask(&self, candidate: &Path) -> Option<Interpreter> {
        let mut command = Command::new(candidate);
        command.args(self.question).env_clear().current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
        // Passes only what shims need to find their program, and no more of the server's
        // environment.
        for name in ["PATH", "HOME", "PYENV_ROOT", "PYENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "NVM_DIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let output = command.output().ok().filter(|output| output.status.success())?;
        let answer: Answer = serde_json::from_slice(&output.stdout).ok()?;
        let program = answer.program.canonicalize().ok()?;
        let prefixes = answer.folders.iter().filter_map(|folder| folder.canonicalize().ok());
        let mut readable: Vec<_> = prefixes
            .filter(|prefix| !is_shown_anyway(prefix) && prefix.parent().is_some())
            .flat_map(|prefix| parts_of(&prefix))
            .collect();
        if !is_shown_anyway(&program) && !readable.iter().any(|folder| program.starts_with(folder)) {
            readable.push(program.clone());
        }
        readable.sort();
        readable.dedup();
        Some(Interpreter { program: kept_name(answer.program, program), version: answer.version, readable })
    }
}

/// The parts of an installation prefix that an interpreter needs. The rest is not shown: a prefix
/// such as `~/.local` also holds the user's own files.
fn parts_of(prefix: &Path) -> Vec<PathBuf> {
    const PARTS: [&str; 7] = ["bin", "include", "lib", "lib32", "lib64", "pyvenv.cfg", "share/zoneinfo"];
    /// A conda environment contains only packages. Their data and certificates are here.
    const CONDA: [&str; 2] = ["share", "ssl"];
    let conda: &[&str] = if prefix.join("conda-meta").is_dir() { &CONDA } else { &[] };
    PARTS.iter().chain(conda).map(|part| prefix.join(part)).filter(|part| part.exists()).collect()
}

/// A virtual environment is located by the path its interpreter is invoked with, which is a
/// symlink.
fn kept_name(called: PathBuf, real: PathBuf) -> PathBuf {
    let in_environment = called.ancestors().nth(2).is_some_and(|prefix| prefix.join("pyvenv.cfg").exists());
    if in_environment { called } else { real }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The sandbox shows the system's own directories to every worker.
fn is_shown_anyway(path: &Path) -> bool {
    path.starts_with("/usr") || path.starts_with("/nix/store")
}

fn is_version(version: &str, asked: &str) -> bool {
    version.strip_prefix(asked).is_some_and(|rest| asked.is_empty() || rest.is_empty() || rest.starts_with('.'))
}

fn numbers(version: &str) -> Vec<u32> {
    version.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_only_versions_that_can_be_requested() {
        let installed = ["3.12.1", "3.9.18", "3.8.18", "3.6.15"].map(|version| Interpreter {
            program: PathBuf::from("/usr/bin/python"),
            version: version.to_owned(),
            readable: Vec::new(),
        });
        assert_eq!(listed(&installed, PYTHON.least), "3.12.1 (/usr/bin/python), 3.9.18 (/usr/bin/python)");
        assert_eq!(listed(&installed[2..], PYTHON.least), "no supported version");
    }

    #[test]
    fn matches_version_prefixes_at_dots() {
        assert!(is_version("3.11.7", "3.11"));
        assert!(is_version("3.11.7", "3.11.7"));
        assert!(is_version("3.11.7", ""));
        assert!(!is_version("3.11.7", "3.1"));
        assert!(!is_version("3.1", "3.11"));
        assert!(numbers("3.9.18") < numbers("3.11.2"));
    }

    #[test]
    fn resolves_shims_and_lists_versions_when_one_is_missing() {
        let python = find(Runtime::Python, "").expect("this test needs a python3 on PATH");
        assert!(!python.program.to_string_lossy().contains("/shims/"), "{python:?}");
        assert!(!python.program.is_symlink(), "{python:?}");
        let minor: String = python.version.split('.').take(2).collect::<Vec<_>>().join(".");
        assert!(find(Runtime::Python, &minor).expect("its own version").version.starts_with(&minor));
        let error = find(Runtime::Python, "3.99").expect_err("there is no such version").to_string();
        assert!(error.contains("python 3.99") && error.contains(&python.version), "{error}");
    }

    #[test]
    fn rejects_malformed_versions() {
        let long = "3".repeat(100);
        for asked in ["../../bin/sh", "latest", "3.11;id", "3 11", long.as_str()] {
            let error = find(Runtime::Python, asked).expect_err("no version").to_string();
            assert!(error.contains("is not a version of python; write it like `3.11`"), "{error}");
            assert!(error.len() < 120, "{error}");
        }
    }

    #[test]
    fn shows_only_the_parts_of_a_prefix_that_belong_to_an_interpreter() {
        let prefix = tempfile::tempdir().unwrap();
        for folder in ["bin", "lib/python3", "share/milepost", "share/keyrings", "state"] {
            std::fs::create_dir_all(prefix.path().join(folder)).unwrap();
        }
        let parts = |names: &[&str]| names.iter().map(|name| prefix.path().join(name)).collect::<Vec<_>>();
        assert_eq!(parts_of(prefix.path()), parts(&["bin", "lib"]));
        std::fs::create_dir(prefix.path().join("conda-meta")).unwrap();
        assert_eq!(parts_of(prefix.path()), parts(&["bin", "lib", "share"]));
    }

    #[test]
    fn reports_the_installer_and_its_version() {
        let python = find(Runtime::Python, "").expect("this test needs a python3 on PATH");
        let pip = installer(Runtime::Python, &python).expect("this test needs pip");
        assert!(pip.starts_with("pip ") && pip.len() < 20, "{pip}");
        let none = Interpreter { program: PathBuf::from("/no/such/python3"), ..python };
        assert_eq!(installer(Runtime::Python, &none), None);
    }

    #[test]
    fn rejects_runtimes_without_an_interpreter() {
        let error = find(Runtime::Binary, "").expect_err("binaries run by themselves");
        assert_eq!(error.to_string(), "binary functions need no interpreter");
    }
}
