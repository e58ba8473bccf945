//! Decides what serves a path in a release: a file, a function or an error.

use std::collections::BTreeSet;

use http::{HeaderValue, Method, StatusCode, Uri, header};

use crate::files::{self, Clean, FileFound, FileResponse, Status};
use crate::gateway::CALL_PATH;
use crate::problem::Problem;
use crate::routes::{CompiledRewrite, Lookup};
use crate::tree::TreeFile;
use crate::view::{Mount, ReleaseView};

pub(crate) enum Decision {
    /// A file, with its `cache-control` if it differs from the default.
    File(TreeFile, Status, Option<HeaderValue>),
    Function(FunctionFound),
    Problem(Problem),
}

pub(crate) struct FunctionFound {
    /// The index of a target of the release.
    pub(crate) target: u32,
    pub(crate) route: Box<str>,
    pub(crate) params: Vec<(Box<str>, Box<str>)>,
    pub(crate) rewrite: CompiledRewrite,
    /// Set for calls by name: where the function's own path begins in the request's path.
    pub(crate) by_name: Option<usize>,
}

pub(crate) fn decide<F>(release: &ReleaseView<F>, method: &Method, uri: &Uri, host: &str) -> Decision {
    let path = uri.path();
    if let Some(rest) = path.strip_prefix(CALL_PATH) {
        return by_name(release, path, rest);
    }
    let for_files = FileResponse::is_for(method);
    let decoded = if release.mounts().is_empty() { None } else { files::decode(path) };
    let found = decoded.as_deref().and_then(|path| files::find(release.mounts(), path));
    match found {
        Some(FileFound::File(file, mount)) if for_files => {
            return to_clean(release, mount, &file, method, uri, host).unwrap_or_else(|| found_file(file, mount));
        }
        Some(FileFound::Folder) if for_files => return redirect("folder", uri, &format!("{path}/")),
        _ => {}
    }
    let mut methods = match release.routes().find(host, method, path) {
        Lookup::Found { path, target, params, rewrite } => {
            let (target, route) = (*target, path.into());
            return Decision::Function(FunctionFound { target, route, params, rewrite, by_name: None });
        }
        Lookup::OtherMethods(methods) => methods,
        Lookup::Nothing => BTreeSet::new(),
    };
    let page = decoded.as_deref().and_then(|path| files::page(release.mounts(), path));
    match page {
        Some(Clean::Page(file, mount)) if for_files => return found_file(file, mount),
        Some(Clean::WithoutSlash) if for_files => return redirect("page", uri, path.trim_end_matches('/')),
        _ => {}
    }
    if found.is_some() || page.is_some() {
        methods.extend(["GET", "HEAD"]);
    }
    if !methods.is_empty() {
        return Decision::Problem(other_methods(method, &methods));
    }
    if for_files
        && !release.mounts().is_empty()
        && let Some((file, mount, found)) =
            files::fallback(release.mounts(), &decoded.unwrap_or_else(|| files::decode_loosely(path)))
    {
        // Caches must not keep the error page in place of a file that may be added later.
        return if found { found_file(file, mount) } else { Decision::File(file, Status::NotFound, None) };
    }
    let detail = format!("Nothing is at {} in the release `{}`.", path, release.id);
    Decision::Problem(Problem::new(StatusCode::NOT_FOUND, "not_found", detail))
}

fn by_name<F>(release: &ReleaseView<F>, path: &str, rest: &str) -> Decision {
    let name = rest.split('/').next().unwrap_or(rest);
    let Some(target) = release.function(name) else {
        let detail = format!("The release `{}` has no function `{name}`.", release.id);
        return Decision::Problem(Problem::new(StatusCode::NOT_FOUND, "unknown_function", detail));
    };
    let by_name = Some(path.len() - rest.len() + name.len());
    let (route, params, rewrite) = ("".into(), Vec::new(), CompiledRewrite::default());
    Decision::Function(FunctionFound { target, route, params, rewrite, by_name })
}

fn found_file(file: TreeFile, mount: &Mount) -> Decision {
    let cache_control = files::cache_control(mount, &file);
    Decision::File(file, Status::Found, cache_control)
}

/// Redirects from the path of a file to its clean URL, unless a route or another file is there.
fn to_clean<F>(
    release: &ReleaseView<F>,
    mount: &Mount,
    file: &TreeFile,
    method: &Method,
    uri: &Uri,
    host: &str,
) -> Option<Decision> {
    let clean = files::clean_path(mount, uri.path())?;
    let decoded = files::decode(clean)?;
    let is_same = |other: &TreeFile| other.at == file.at;
    let leads_there = match files::find(release.mounts(), &decoded) {
        Some(FileFound::File(other, _)) => is_same(&other),
        Some(FileFound::Folder) => false,
        None => {
            let page = files::page(release.mounts(), &decoded);
            matches!(page, Some(Clean::Page(other, _)) if is_same(&other))
                && !matches!(release.routes().find(host, method, clean), Lookup::Found { .. })
        }
    };
    leads_there.then(|| redirect("page", uri, clean))
}

/// Redirects to another path and keeps the query.
fn redirect(what: &'static str, uri: &Uri, path: &str) -> Decision {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let to = format!("{path}{query}");
    let problem = Problem::new(StatusCode::PERMANENT_REDIRECT, what, format!("The {what} is at {to}."));
    Decision::Problem(match HeaderValue::from_str(&to) {
        Ok(to) => problem.header(header::LOCATION, to),
        Err(_) => Problem::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this path."),
    })
}

fn other_methods(method: &Method, allowed: &BTreeSet<&str>) -> Problem {
    let allowed = allowed.iter().copied().collect::<Vec<_>>().join(", ");
    let detail = format!("{method} is not allowed here.");
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
    match HeaderValue::from_str(&allowed) {
        Ok(value) => problem.hint(format!("use {allowed}")).header(header::ALLOW, value),
        Err(_) => problem,
    }
}
