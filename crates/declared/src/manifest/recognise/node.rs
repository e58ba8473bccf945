//! Express, Fastify, Vite, and plain programs.

use std::path::Path;

use serde_json::Value;

use super::{Program, Starter, is_alone, text, to_exclude};

/// Common entry files of servers, in order of preference.
const USUAL: [&str; 10] = [
    "server.js",
    "app.js",
    "index.js",
    "main.js",
    "server.mjs",
    "app.mjs",
    "index.mjs",
    "main.mjs",
    "src/server.js",
    "src/index.js",
];
const PLAIN: [&str; 4] = ["index.js", "index.mjs", "main.js", "main.mjs"];
const FRAMEWORKS: [&str; 3] = ["express", "fastify", "koa"];

fn package(folder: &Path) -> Option<Value> {
    serde_json::from_str(&text(folder, "package.json")?).ok()
}

fn depends(package: &Value, name: &str) -> bool {
    ["dependencies", "devDependencies"].into_iter().any(|list| package[list].get(name).is_some())
}

fn framework(package: &Value) -> bool {
    FRAMEWORKS.iter().any(|name| package["dependencies"].get(name).is_some())
}

/// A Vite project: static pages with client-side routing.
pub(super) fn site(folder: &Path, name: &str) -> Option<Starter> {
    let package = package(folder).filter(|package| depends(package, "vite") && !framework(package))?;
    let build = if package["scripts"]["build"].is_string() { "npm run build" } else { "npx vite build" };
    let manifest = format!(
        "app: {name}\n# Run `npm install` and `{build}` before each deploy: the output in dist is served.\nstatic:\n  - src: dist\n    \
         path: /\n    fallback: index.html\n"
    );
    let note = format!("Run `npm install && {build}` before each deploy. The output in dist is served.");
    Some(Starter { manifest, files: Vec::new(), notes: vec![note] })
}

pub(super) fn program(folder: &Path) -> Option<Program> {
    match package(folder) {
        Some(package) if framework(&package) => application(folder, &package),
        _ => plain(folder),
    }
}

fn application(folder: &Path, package: &Value) -> Option<Program> {
    let is_file = |file: &&str| folder.join(file).is_file();
    let main = package["main"].as_str().map(|main| main.trim_start_matches("./")).filter(is_file);
    let started = package["scripts"]["start"].as_str().and_then(|start| {
        let words = start.split_whitespace();
        words.map(|word| word.trim_start_matches("./")).find(|word| word.ends_with("js") && is_file(word))
    });
    let file = started.or(main).or_else(|| USUAL.into_iter().find(is_file))?;
    let mut program = Program {
        env: "node",
        src: ".".to_owned(),
        entrypoint: Some(file.to_owned()),
        exclude: to_exclude(folder, &["node_modules/"]),
        is_application: true,
        ..Program::default()
    };
    // A server that listens gets the requests without an export.
    if !exports(folder, file) && !text(folder, file).unwrap_or_default().contains(".listen(") {
        program.notes.push(format!(
            "{file} exports nothing. If requests fail, export the application with `module.exports = app`."
        ));
    }
    Some(program)
}

/// A file that Node runs by convention. Next to an `index.html` it is a script of the page, unless
/// it has exports.
fn plain(folder: &Path) -> Option<Program> {
    let is_page = folder.join("index.html").is_file();
    let is_program = |file: &&str| folder.join(file).is_file() && (!is_page || exports(folder, file));
    let file = PLAIN.into_iter().find(is_program)?;
    let alone = is_alone(folder, file);
    let src = if alone { file } else { "." }.to_owned();
    let entrypoint = (!alone).then(|| file.to_owned());
    let exclude = if alone { Vec::new() } else { to_exclude(folder, &["node_modules/"]) };
    Some(Program { env: "node", src, entrypoint, exclude, ..Program::default() })
}

fn exports(folder: &Path, file: &str) -> bool {
    let text = text(folder, file).unwrap_or_default();
    ["module.exports", "exports.", "export default", "export {", "export const"].iter().any(|form| text.contains(form))
}
