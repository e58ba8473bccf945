//! Flask, FastAPI, Django, and plain programs.

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

const FRAMEWORKS: [Framework; 3] = [
    Framework { name: "FastAPI", package: "fastapi", module: "fastapi", classes: &["FastAPI"] },
    Framework { name: "Flask", package: "flask", module: "flask", classes: &["Flask"] },
    Framework { name: "Starlette", package: "starlette", module: "starlette", classes: &["Starlette"] },
];

pub(super) fn program(folder: &Path) -> Option<Program> {
    django(folder).or_else(|| application(folder)).or_else(|| plain(folder))
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
    requirements(folder, "django", "Django", &mut program);
    Some(program)
}

/// A module-level variable with an application of a framework.
fn application(folder: &Path) -> Option<Program> {
    for file in files(folder) {
        let Some(text) = text(folder, &file) else { continue };
        for framework in FRAMEWORKS {
            let imports = |line: &str| {
                let words: Vec<&str> = line.split([' ', ',', '.']).collect();
                matches!(words.as_slice(), ["from" | "import", module, ..] if *module == framework.module)
            };
            if !text.lines().any(|line| imports(line.trim_start())) {
                continue;
            }
            let module = file.trim_end_matches(".py").replace('/', ".");
            let module = module.strip_suffix(".__init__").unwrap_or(&module);
            if let Some(variable) = variable(&text, &framework) {
                let mut program = whole(folder, format!("{module}.{variable}"));
                requirements(folder, framework.package, framework.name, &mut program);
                return Some(program);
            }
            if text.lines().any(|line| line.starts_with("def create_app(")) {
                // An entrypoint cannot call a factory, so write a file that does.
                let wsgi = format!("from {module} import create_app\n\napp = create_app()\n");
                let mut program = whole(folder, "milepost_app.app".to_owned());
                if !folder.join("milepost_app.py").exists() {
                    program.files.push(("milepost_app.py".to_owned(), wsgi));
                }
                requirements(folder, framework.package, framework.name, &mut program);
                return Some(program);
            }
        }
    }
    None
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
    Some(Program { env: "python", src, entrypoint, exclude, is_application, ..Program::default() })
}

/// Adds `requirements.txt`, from which a build installs the framework.
fn requirements(folder: &Path, package: &str, called: &str, program: &mut Program) {
    let named = text(folder, "requirements.txt");
    let has = |text: &String| text.lines().any(|line| line.trim().to_lowercase().starts_with(package));
    if named.as_ref().is_some_and(has) {
        return;
    }
    if named.is_some() {
        program.notes.push(format!(
            "requirements.txt does not list {called}: add `{package}` unless another package installs it."
        ));
        return;
    }
    program.files.push(("requirements.txt".to_owned(), format!("{package}\n")));
    program.notes.push(
        "Add the other dependencies of the application to requirements.txt, so that the build installs them."
            .to_owned(),
    );
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
