//! The API reference as a page: plain HTML rendered from the OpenAPI document, without external
//! resources.

use std::fmt::Write;

use serde_json::Value;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}\
h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}details{margin:.4rem 0;border:1px solid #d0d7de;border-radius:6px;padding:.4rem .8rem}\
summary{cursor:pointer}code,pre{font:14px ui-monospace,monospace}pre{background:#f6f8fa;padding:.8rem;border-radius:6px;overflow:auto}\
.m{display:inline-block;width:4.5rem;font-weight:700}.get{color:#0969da}.post{color:#1a7f37}.put,.patch{color:#9a6700}.delete{color:#cf222e}\
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}pre{background:#161b22}details,h2{border-color:#30363d}}";

pub(crate) fn render(document: &Value) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Milepost API</title><style>{STYLE}</style><h1>Milepost API</h1><p>{}</p>\
         <p>Machine-readable: <a href=\"openapi.json\">openapi.json</a></p>",
        escape(document["info"]["description"].as_str().unwrap_or_default())
    );
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or("other").to_owned();
            let entry = operation_html(path, method, operation);
            match groups.iter_mut().find(|(name, _)| *name == tag) {
                Some((_, entries)) => entries.push(entry),
                None => groups.push((tag, vec![entry])),
            }
        }
    }
    for (tag, entries) in groups {
        let _ = write!(page, "<h2>{}</h2>{}", escape(&tag), entries.concat());
    }
    let _ = write!(page, "<h2>Schemas</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let text = serde_json::to_string_pretty(schema).unwrap_or_default();
        let _ = write!(
            page,
            "<details id=\"{0}\"><summary><code>{0}</code></summary><pre>{1}</pre></details>",
            escape(name),
            escape(&text)
        );
    }
    page
}

fn operation_html(path: &str, method: &str, operation: &Value) -> String {
    let summary = operation["summary"].as_str().unwrap_or_default();
    let mut html = format!(
        "<details><summary><span class=\"m {method}\">{}</span><code>{}</code> — {}</summary>",
        method.to_uppercase(),
        escape(path),
        escape(summary)
    );
    if let Some(description) = operation["description"].as_str() {
        let _ = write!(html, "<p>{}</p>", escape(description));
    }
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let _ = write!(
            html,
            "<p><code>{}</code> ({}) {}</p>",
            escape(parameter["name"].as_str().unwrap_or_default()),
            escape(parameter["in"].as_str().unwrap_or_default()),
            escape(parameter["description"].as_str().unwrap_or_default())
        );
    }
    if let Some(body) = operation.get("requestBody") {
        let _ = write!(html, "<p>Body: {}</p>", schema_links(body));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let text = response["description"].as_str().unwrap_or_default();
        let _ = write!(html, "<p>{} {} {}</p>", escape(status), escape(text), schema_links(response));
    }
    html.push_str("</details>");
    html
}

/// Links to all schemas that a part of the document refers to, at any depth.
fn schema_links(part: &Value) -> String {
    let mut names = std::collections::BTreeSet::new();
    collect_references(part, &mut names);
    let links = names.iter().map(|name| format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(name)));
    links.collect::<Vec<_>>().join(", ")
}

fn collect_references(part: &Value, names: &mut std::collections::BTreeSet<String>) {
    match part {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str).and_then(|text| text.rsplit('/').next());
            names.extend(reference.map(str::to_owned));
            fields.values().for_each(|field| collect_references(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, names)),
        _ => {}
    }
}

/// Escapes text for HTML and renders backticks as code.
fn escape(text: &str) -> String {
    let plain = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut parts = plain.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        html.push_str(if index % 2 == 0 { "<code>" } else { "</code>" });
        html.push_str(part);
    }
    if plain.matches('`').count() % 2 == 1 {
        html.push_str("</code>");
    }
    html
}
