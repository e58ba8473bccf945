//! Express, Fastify and other servers, Vite and other site builders, and plain programs.

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
const FRAMEWORKS: [&str; 8] = ["express", "fastify", "koa", "hono", "@hapi/hapi", "@nestjs/core", "restify", "polka"];

/// What builds static pages.
struct Builder {
    package: &'static str,
    command: &'static str,
    output: &'static str,
    /// Whether one page routes in the browser.
    is_single_page: bool,
}

/// Vite is last, because the others may bring it along.
const BUILDERS: [Builder; 3] = [
    Builder { package: "astro", command: "npx astro build", output: "dist", is_single_page: false },
    Builder { package: "react-scripts", command: "npx react-scripts build", output: "build", is_single_page: true },
    Builder { package: "vite", command: "npx vite build", output: "dist", is_single_page: true },
];

/// Frameworks whose output is a server that cannot be exported as a function. Most of them use
/// Vite.
const RENDERERS: [(&str, &str); 7] = [
    ("next", "Next.js"),
    ("nuxt", "Nuxt"),
    ("@sveltejs/kit", "SvelteKit"),
    ("@remix-run/node", "Remix"),
    ("@react-router/node", "React Router"),
    ("@solidjs/start", "SolidStart"),
    ("@tanstack/react-start", "TanStack Start"),
];

fn package(folder: &Path) -> Option<Value> {
    serde_json::from_str(&text(folder, "package.json")?).ok()
}

fn depends(package: &Value, name: &str) -> bool {
    ["dependencies", "devDependencies"].into_iter().any(|list| package[list].get(name).is_some())
}

fn framework(package: &Value) -> bool {
    FRAMEWORKS.iter().any(|name| package["dependencies"].get(name).is_some())
}

fn builds(package: &Value) -> bool {
    package["scripts"]["build"].is_string()
}

/// The name of the framework of this folder that needs a server of its own. A server of Express or
/// the like takes precedence, because it can be exported.
pub(super) fn renders_pages(folder: &Path) -> Option<&'static str> {
    let package = package(folder).filter(|package| !framework(package))?;
    RENDERERS.into_iter().find(|(name, _)| depends(&package, name)).map(|(_, called)| called)
}

/// A project that builds static pages.
pub(super) fn site(folder: &Path, name: &str) -> Option<Starter> {
    let package = package(folder).filter(|package| !framework(package))?;
    if renders_pages(folder).is_some() {
        return None;
    }
    let Builder { command, output, is_single_page, .. } =
        BUILDERS.into_iter().find(|builder| depends(&package, builder.package))?;
    let build = if builds(&package) { "npm run build" } else { command };
    let fallback = if is_single_page { "    fallback: index.html\n" } else { "" };
    let manifest = format!(
        "app: {name}\n# Run `npm install` and `{build}` before each deploy: the output in {output} is served.\nstatic:\n  - src: \
         {output}\n    path: /\n{fallback}"
    );
    let note = format!("Run `npm install && {build}` before each deploy. The output in {output} is served.");
    Some(Starter { manifest, files: Vec::new(), notes: vec![note] })
}

pub(super) fn program(folder: &Path) -> Option<Program> {
    match package(folder) {
        Some(package) if framework(&package) => application(folder, &package),
        package => plain(folder, package.as_ref()),
    }
}

fn application(folder: &Path, package: &Value) -> Option<Program> {
    let is_file = |file: &str| folder.join(file).is_file();
    let named = named(package);
    let usual = || USUAL.into_iter().find(|file| is_file(file)).map(str::to_owned);
    // The build makes it from TypeScript.
    let made = || if builds(package) { named.first().cloned() } else { None };
    let file = named.iter().find(|file| is_file(file)).cloned().or_else(usual).or_else(made)?;
    let mut program = Program {
        env: "node",
        src: ".".to_owned(),
        entrypoint: Some(file.clone()),
        exclude: to_exclude(folder, &["node_modules/"]),
        is_application: true,
        ..Program::default()
    };
    // A server that listens gets the requests without an export.
    if is_file(&file) && !exports(folder, &file) && !listens(folder, &file) {
        program.notes.push(format!(
            "{file} exports nothing. If requests fail, export the application with `module.exports = app`."
        ));
    }
    Some(program)
}

/// The files that the package names as its program: in the scripts that start it, and as `main`.
fn named(package: &Value) -> Vec<String> {
    let starts = ["start:prod", "start"].into_iter().filter_map(|name| package["scripts"][name].as_str());
    let started = starts.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_script = |word: &&&str| [".js", ".mjs", ".cjs"].iter().any(|ending| word.ends_with(ending));
        if let Some(script) = words.iter().find(is_script) {
            return Some((*script).to_owned());
        }
        // `node dist/main`
        let [.., "node", module] = words.as_slice() else { return None };
        Some(format!("{module}.js"))
    });
    let main = package["main"].as_str().map(str::to_owned);
    started.chain(main).map(|file| file.trim_start_matches("./").to_owned()).collect()
}

/// A file that Node runs by convention, or that the package names. Next to an `index.html` it is a
/// script of the page, unless it exports something or listens.
fn plain(folder: &Path, package: Option<&Value>) -> Option<Program> {
    let is_page = folder.join("index.html").is_file();
    let is_function = |file: &String| {
        let runs = PLAIN.contains(&file.as_str()) && !is_page;
        folder.join(file).is_file() && (runs || exports(folder, file) || listens(folder, file))
    };
    let named = package.map(named).unwrap_or_default();
    let mut functions = named.into_iter().chain(PLAIN.map(str::to_owned));
    let mut servers = USUAL.into_iter().filter(|file| listens(folder, file)).map(str::to_owned);
    let file = functions.find(is_function).or_else(|| servers.next())?;
    let alone = is_alone(folder, &file);
    let src = if alone { file.clone() } else { ".".to_owned() };
    let is_application = listens(folder, &file);
    let entrypoint = (!alone).then_some(file);
    let exclude = if alone { Vec::new() } else { to_exclude(folder, &["node_modules/"]) };
    Some(Program { env: "node", src, entrypoint, exclude, is_application, ..Program::default() })
}

/// Whether the file starts a server, which then gets the requests.
fn listens(folder: &Path, file: &str) -> bool {
    let text = text(folder, file).unwrap_or_default();
    [".listen(", "createServer(", "serve("].iter().any(|call| text.contains(call))
}

fn exports(folder: &Path, file: &str) -> bool {
    let text = text(folder, file).unwrap_or_default();
    ["module.exports", "exports.", "export default", "export {", "export const"].iter().any(|form| text.contains(form))
}
