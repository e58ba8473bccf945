//! `create --spec`: writes documents to a folder of specs instead of changing an app. Needs no
//! server.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use milepost_declared::fission;
use milepost_declared::write::{Archives, Documents, absolute, failed, object_name, relative, spec_file_name};
use milepost_model::change::UnitKey;
use milepost_model::unit_put::{Put, UnitPut};

use crate::failure::{Failure, Result};
use crate::output::{Ui, print_data};
use crate::sources::CodeArgs;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Spec options")]
pub struct SpecFileArgs {
    /// Write YAML to a folder of specs instead of changing the app
    ///
    /// Apply it with `milepost spec apply`.
    #[arg(long)]
    pub spec: bool,
    /// Print the YAML of `--spec` and write nothing
    #[arg(long)]
    pub dry: bool,
    /// The folder of specs
    #[arg(long, value_name = "DIR", default_value = "specs")]
    pub specdir: PathBuf,
}

impl SpecFileArgs {
    pub fn is_asked(&self) -> bool {
        self.spec || self.dry
    }

    /// Returns the environment of a package that the folder declares.
    pub fn environment_of(&self, package: &str) -> Result<String> {
        let declared = fission::look_at_folder(&self.specdir).ok().map(|(declared, _)| declared);
        let units = declared.iter().flat_map(|declared| &declared.units);
        let found = units.filter(|unit| unit.put.name.as_str() == package).find_map(|unit| match &unit.put.unit {
            UnitPut::Package(put) => Some(put.environment.as_ref()?.name.to_string()),
            _ => None,
        });
        found.ok_or_else(|| {
            let folder = self.specdir.display();
            Failure::usage(format!("package `{package}` is not declared in `{folder}`, so its environment is unknown"))
                .hint("create it first with `milepost package create --spec`, or add `--env`")
        })
    }

    /// Returns the file patterns of a package's archives, relative to the parent of the specs
    /// folder.
    pub fn archives(&self, code: &CodeArgs) -> Result<Archives> {
        let pattern = |path: Option<&PathBuf>| path.map(|path| self.pattern(path)).transpose();
        Ok(Archives {
            source: pattern(code.src.as_ref())?,
            deployment: pattern(code.code.as_ref().or(code.deploy.as_ref()))?,
        })
    }

    fn pattern(&self, path: &Path) -> Result<String> {
        let specs = absolute(&self.specdir)?;
        let project = specs.parent().unwrap_or(&specs);
        let inside = relative(project, &absolute(path)?);
        let Some(inside) = inside.filter(|inside| inside != ".." && !inside.starts_with("../")) else {
            let message = format!("`{}` is outside the project folder `{}`", path.display(), project.display());
            return Err(Failure::usage(message).hint("move it there, or choose another specs folder with `--specdir`"));
        };
        Ok(match (path.is_dir(), inside.as_str()) {
            (true, ".") => "**".to_owned(),
            (true, folder) => format!("{folder}/**"),
            (false, file) => file.to_owned(),
        })
    }
}

/// Appends the documents of all puts to one file. The file is named after the last put, the unit
/// that the command creates.
pub fn write(ui: &Ui, args: &SpecFileArgs, puts: &[Put], archives: &Archives) -> Result<()> {
    let Some(about) = puts.last() else { return Ok(()) };
    let mut documents = Documents::default();
    for put in puts {
        documents.add(put, archives);
    }
    if !documents.inexpressible.is_empty() {
        let message = format!("a Fission spec cannot express {}", documents.inexpressible.join(", "));
        return Err(Failure::usage(message)
            .hint("leave it out, or describe the app in a `milepost.yaml` (`milepost import` turns specs into one)"));
    }
    if args.dry {
        return print_data(&documents.text());
    }
    refuse_declared(&args.specdir, puts)?;
    let path = args.specdir.join(spec_file_name(about.unit.kind(), about.name.as_str()));
    append(&path, &documents.text())?;
    ui.say(&format!("Wrote {}", path.display()));
    ui.say(&format!("Apply it with `{}`.", apply_command(&args.specdir)));
    Ok(())
}

/// Prints how an HTTPTrigger differs from a route that is created without `--spec`: such a route
/// passes the whole path, and its prefix as `X-Forwarded-Prefix`.
pub fn say_what_a_trigger_passes(ui: &Ui, prefix: bool) {
    ui.say(if prefix {
        "As an HTTPTrigger the function gets no `X-Forwarded-Prefix`, as in Fission."
    } else {
        "As an HTTPTrigger the function gets the path `/`, as in Fission."
    });
}

fn apply_command(specdir: &Path) -> String {
    let usual = specdir == Path::new("specs");
    if usual {
        "milepost spec apply".to_owned()
    } else {
        format!("milepost spec apply --specdir {}", specdir.display())
    }
}

/// Rejects puts that the folder already declares.
fn refuse_declared(specdir: &Path, puts: &[Put]) -> Result<()> {
    if !specdir.is_dir() {
        return Err(Failure::usage(format!("folder `{}` does not exist", specdir.display()))
            .hint("create it with `milepost spec init`, or choose another one with `--specdir DIR`"));
    }
    let holds_files = fs::read_dir(specdir)?.next().is_some();
    if !holds_files {
        return Ok(());
    }
    // Mistakes elsewhere in the folder are reported by `spec validate`.
    let Ok((declared, _)) = fission::look_at_folder(specdir) else { return Ok(()) };
    for put in puts {
        let name = match put.unit {
            UnitPut::Route(_) => object_name(put.name.as_str()),
            _ => put.name.to_string(),
        };
        let known = declared.units.iter().find(|unit| {
            let UnitKey { kind, name: declared } = unit.key();
            kind == put.unit.kind() && declared.as_str() == name
        });
        if let Some(unit) = known {
            let message = format!("{} `{name}` is already declared in {}", put.unit.kind(), unit.place);
            return Err(Failure::usage(message).hint("edit it there, or choose another name"));
        }
    }
    Ok(())
}

/// Replaces the file atomically, so that an interrupted command leaves the old one intact.
fn append(path: &Path, text: &str) -> Result<()> {
    let before = match fs::read_to_string(path) {
        Ok(before) => before,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::unreadable(path, &error)),
    };
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
        fs::write(file.path(), format!("{before}{gap}{text}"))?;
        let mode = fs::metadata(path).map_or_else(|_| default_mode(), |known| known.permissions());
        fs::set_permissions(file.path(), mode)?;
        file.persist(path).map_err(|error| error.error)
    });
    Ok(written.map(drop).map_err(|error| failed(path, error))?)
}

/// The mode of a new spec file: a temporary file is readable by its owner only, but specs are
/// committed.
fn default_mode() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o644)
}
