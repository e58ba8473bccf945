//! Flask, FastAPI, Django, and plain programs.

mod pyproject;

use std::path::Path;

use super::{Program, is_alone, text, to_exclude};

/// Common application files, in order of preference.
const USUAL: [&str; 7] = ["main.py", "app.py", "wsgi.py", "asgi.py", "application.py", "server.py", "api.py"];
const NOT_CODE: [&str; 4] = [".venv/", "venv/", "env/", "node_modules/"];

struct Framework {
    /// Its display name, and the name of its package on PyPI.
    name: &'static str,
    package: &'static str,
    module: &'static str,
    classes: &'static [&'static str],
}

static FRAMEWORKS: [Framework; 3] = [
    Framework { name: "FastAPI", package: "fastapi", module: "fastapi", classes: &["FastAPI"] },
    Framework { name: "Flask", package: "flask", module: "flask", classes: &["Flask"] },
    Framework { name: "Starlette", package: "starlette", module: "starlette", classes: &["Starlette"] },
];

pub(super) fn program(folder: &Path) -> Option<Program> {
    django(folder).or_else(|| served(folder)).or_else(|| application(folder)).or_else(|| plain(folder))
}

fn whole(folder: &Path, entrypoint: String) -> Program {
    Program {
        env: "python",
        src: ".".to_owned(),
        entrypoint: Some(entrypoint),
        exclude: to_exclude(folder, &NOT_CODE),
        is_application: true,
        ..Program::default()
    }
}

/// Django: `manage.py`, and the package with `wsgi.py` that it refers to.
fn django(folder: &Path) -> Option<Program> {
    let manage = text(folder, "manage.py").filter(|text| text.contains("DJANGO_SETTINGS_MODULE"))?;
    let named = manage.split(['"', '\'']).find_map(|text| text.strip_suffix(".settings")).map(str::to_owned);
    let package = named.filter(|package| folder.join(package.replace('.', "/")).join("wsgi.py").is_file());
    let package =
        package.or_else(|| folders(folder).into_iter().find(|name| folder.join(name).join("wsgi.py").is_file()))?;
    let mut program = whole(folder, format!("{package}.wsgi.application"));
    requirements(folder, Some(("django", "Django")), &mut program);
    Some(program)
}

/// The application that its server is started with: as the Procfile says, or in `wsgi.py` or
/// `asgi.py`.
fn served(folder: &Path) -> Option<Program> {
    let module = || {
        let (file, variable) =
            ["wsgi.py", "asgi.py"].into_iter().find_map(|file| Some((file, entry(folder, file)?)))?;
        Some((file.trim_end_matches(".py").to_owned(), variable.to_owned()))
    };
    let (module, variable) = procfile(folder).or_else(module)?;
    let mut program = match variable.strip_suffix("()") {
        Some(factory) => made_by(folder, &module, factory),
        None => whole(folder, format!("{module}.{variable}")),
    };
    let framework = files(folder).iter().find_map(|file| imported(&text(folder, file)?));
    requirements(folder, framework.map(|framework| (framework.package, framework.name)), &mut program);
    Some(program)
}

/// `web: gunicorn --workers 2 shop.wsgi:app`: the module and the variable.
fn procfile(folder: &Path) -> Option<(String, String)> {
    let text = text(folder, "Procfile")?;
    let line = text.lines().find_map(|line| line.strip_prefix("web:"))?;
    let is_name = |text: &str| {
        let mut letters = text.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let exists = |module: &str| {
        let path = folder.join(module.replace('.', "/"));
        path.with_extension("py").is_file() || path.join("__init__.py").is_file()
    };
    let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.filter_map(|word| word.split_once(':')).find_map(|(module, variable)| {
        let name = variable.strip_suffix("()").unwrap_or(variable);
        let is_module = module.split('.').all(is_name) && is_name(name) && exists(module);
        is_module.then(|| (module.to_owned(), variable.to_owned()))
    })
}

/// The application that a module defines or imports: `app = create_app("production")`,
/// `from shop import app`.
fn entry(folder: &Path, file: &str) -> Option<&'static str> {
    let text = text(folder, file)?;
    let defines = |line: &str, name: &str| {
        let imported = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "));
        match imported {
            Some((_, names)) => names.split(',').any(|one| one.split_whitespace().next_back() == Some(name)),
            None => line.strip_prefix(name).is_some_and(|rest| {
                let rest = rest.trim_start();
                rest.starts_with('=') && !rest.starts_with("==")
            }),
        }
    };
    ["app", "application"].into_iter().find(|name| text.lines().any(|line| defines(line, name)))
}

/// A module-level variable with an application of a framework.
fn application(folder: &Path) -> Option<Program> {
    for file in files(folder) {
        let Some(text) = text(folder, &file) else { continue };
        let Some(framework) = imported(&text) else { continue };
        let module = file.trim_end_matches(".py").replace('/', ".");
        let module = module.strip_suffix(".__init__").unwrap_or(&module);
        let mut program = if let Some(variable) = variable(&text, framework) {
            whole(folder, format!("{module}.{variable}"))
        } else if text.lines().any(|line| line.starts_with("def create_app(")) {
            made_by(folder, module, "create_app")
        } else {
            continue;
        };
        requirements(folder, Some((framework.package, framework.name)), &mut program);
        return Some(program);
    }
    None
}

/// An entrypoint cannot call a factory, so this writes a file that does.
fn made_by(folder: &Path, module: &str, factory: &str) -> Program {
    let mut program = whole(folder, "milepost_app.app".to_owned());
    if !folder.join("milepost_app.py").exists() {
        let text = format!("from {module} import {factory}\n\napp = {factory}()\n");
        program.files.push(("milepost_app.py".to_owned(), text));
    }
    program
}

/// The framework that a file imports.
fn imported(text: &str) -> Option<&'static Framework> {
    FRAMEWORKS.iter().find(|framework| {
        text.lines().any(|line| {
            let words: Vec<&str> = line.trim_start().split([' ', ',', '.']).collect();
            matches!(words.as_slice(), ["from" | "import", module, ..] if *module == framework.module)
        })
    })
}

/// `app = Flask(__name__)`, at the start of a line.
fn variable<'a>(text: &'a str, framework: &Framework) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (variable, value) = line.split_once('=')?;
        let variable = variable.split(':').next()?.trim_end();
        let called = value.trim_start().split('(').next()?.rsplit('.').next()?.trim();
        let is_name = !variable.is_empty() && variable.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        (is_name && value.contains('(') && framework.classes.contains(&called)).then_some(variable)
    })
}

/// `main.py` or `app.py` with a function.
fn plain(folder: &Path) -> Option<Program> {
    let file = ["main.py", "app.py"].into_iter().find(|file| folder.join(file).is_file())?;
    let module = file.trim_end_matches(".py");
    let text = text(folder, file).unwrap_or_default();
    let has = |name: &&str| {
        text.lines().any(|line| {
            let line = line.strip_prefix("async ").unwrap_or(line);
            let rest = line.strip_prefix("def ").or(Some(line)).and_then(|rest| rest.strip_prefix(*name));
            rest.is_some_and(|rest| rest.trim_start().starts_with(['(', '=', ':']))
        })
    };
    let name = ["main", "handler", "app", "application"].into_iter().find(has).unwrap_or("main");
    let alone = is_alone(folder, file);
    let is_application = matches!(name, "app" | "application");
    let src = if alone { file } else { "." }.to_owned();
    let exclude = if alone { Vec::new() } else { to_exclude(folder, &NOT_CODE) };
    let entrypoint = Some(format!("{module}.{name}"));
    let mut program = Program { env: "python", src, entrypoint, exclude, is_application, ..Program::default() };
    requirements(folder, None, &mut program);
    Some(program)
}

/// Adds `requirements.txt`, which builds install: what `pyproject.toml` lists, and the framework.
/// `framework` is the name of its package, and its display name.
fn requirements(folder: &Path, framework: Option<(&str, &str)>, program: &mut Program) {
    let has = |text: &str, package: &str| text.lines().any(|line| line.trim().to_lowercase().starts_with(package));
    if let Some(named) = text(folder, "requirements.txt") {
        if let Some((package, called)) = framework.filter(|(package, _)| !has(&named, package)) {
            program.notes.push(format!(
                "requirements.txt does not list {called}: add `{package}` unless another package installs it."
            ));
        }
        return;
    }
    let listed = pyproject::dependencies(folder).filter(|listed| !listed.is_empty());
    let is_listed = listed.is_some();
    let mut lines = listed.unwrap_or_default();
    lines.extend(
        framework.filter(|(package, _)| !has(&lines.join("\n"), package)).map(|(package, _)| package.to_owned()),
    );
    if lines.is_empty() {
        return;
    }
    program.files.push(("requirements.txt".to_owned(), format!("{}\n", lines.join("\n"))));
    program.notes.push(if is_listed {
        "requirements.txt has the dependencies of pyproject.toml. Builds install what it lists, so keep it up to date."
            .to_owned()
    } else {
        "Add the other dependencies of the application to requirements.txt, so that the build installs them.".to_owned()
    });
}

/// Python files in the folder and in its direct subfolders, with common names first.
fn files(folder: &Path) -> Vec<String> {
    let python = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.path().is_file()).map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".py")).collect()
    };
    let mut found = python(folder);
    for package in folders(folder) {
        found.extend(python(&folder.join(&package)).into_iter().map(|file| format!("{package}/{file}")));
    }
    let rank = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let usual = USUAL.iter().position(|usual| *usual == name).unwrap_or(USUAL.len());
        (path.matches('/').count(), usual, path.clone())
    };
    found.sort_by_key(rank);
    found
}

/// Subfolders that may be packages.
fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| !name.starts_with('.') && name != "tests" && name.parse::<f64>().is_err())
        .filter(|name| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_'))
        .filter(|name| !matches!(name.as_str(), "venv" | "env" | "node_modules" | "__pycache__"))
        .collect();
    names.sort();
    names
}
