use std::io::{IsTerminal, Write};
use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use milepost_client::{FunctionAnswer, FunctionCall};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use super::KIND;
use crate::commands::shared::NameArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{Lines, harmless, write_data};

/// Call a function without a route
///
/// Runs the newest version, or the one of `--version`, with the app's configuration and secrets.
/// Prints the response body to stdout and a summary to stderr. Fails if the function fails or
/// returns a status of 500 or above.
#[derive(Debug, Args)]
pub struct TestArgs {
    #[command(flatten)]
    name: NameArgs,
    /// Version to call: `latest`, a number, a uid, a label, `@alias` or `sha256:…`
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// HTTP method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,
    /// Path and query that the function gets; encoded where necessary
    #[arg(long, visible_alias = "subpath", value_name = "PATH", default_value = "/")]
    path: String,
    /// Query parameter, not encoded (can be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    query: Vec<String>,
    /// Request header (can be repeated)
    #[arg(short = 'H', long, value_name = "NAME: VALUE", value_parser = parse_header)]
    header: Vec<(String, String)>,
    /// Request body; `@FILE` reads a file, `@-` reads stdin
    #[arg(short = 'd', long, short_alias = 'b', value_name = "DATA")]
    body: Option<String>,
    /// Validate the body as JSON and set the content type
    #[arg(long)]
    json: bool,
    /// Print the status and headers before the body
    #[arg(short, long)]
    include: bool,
}

pub async fn run(context: &Context<'_>, args: TestArgs) -> Result<()> {
    let name = args.name.key(KIND)?.name;
    let call = call(&args)?;
    let started = Instant::now();
    let mut answer = context.client.function_call(&context.app, name.as_str(), &call).await?;
    if args.include {
        print_head(&answer)?;
    }
    print_body(&mut answer).await?;
    let version = answer.version.as_deref().map(|version| format!(" version {version}")).unwrap_or_default();
    let request = answer.request.as_deref().map(|request| format!(", request {request}")).unwrap_or_default();
    let took = started.elapsed().as_millis();
    context.ui.say(&format!("{} from {name}{version} in {took} ms{request}", answer.status));
    if answer.status >= 500 {
        let failure = Failure::new(format!("the function returned status {}", answer.status));
        return Err(match &answer.request {
            Some(request) => {
                failure.hint(format!("run `milepost logs --app {} --request {request}` to see its output", context.app))
            }
            None => failure,
        });
    }
    Ok(())
}

fn call(args: &TestArgs) -> Result<FunctionCall> {
    let body = match args.body.as_deref() {
        None => Bytes::new(),
        Some(body) => read_body(body)?,
    };
    let mut headers = args.header.clone();
    if args.json {
        serde_json::from_slice::<serde::de::IgnoredAny>(&body).map_err(|error| {
            Failure::usage(format!("the body is not JSON: {error}")).hint("fix the body, or leave out `--json`")
        })?;
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
    }
    let default_method = if args.body.is_some() { "POST" } else { "GET" };
    Ok(FunctionCall {
        version: args.version.clone(),
        method: args.method.as_deref().unwrap_or(default_method).to_uppercase(),
        path: path_with_query(&args.path, &args.query),
        headers,
        body,
    })
}

/// Encoded in the path and its query. `%` is not in the set, so that existing escapes are kept. A
/// `#` would end the URL.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
/// Encoded in a `--query` pair: everything with a meaning in a query, and `%`, so that the function
/// reads the pair literally.
const IN_PAIR: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn path_with_query(path: &str, query: &[String]) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut path = format!("{slash}{}", utf8_percent_encode(path, IN_PATH));
    for pair in query {
        path.push(if path.contains('?') { '&' } else { '?' });
        let (key, value) = pair.split_once('=').map_or((pair.as_str(), None), |(key, value)| (key, Some(value)));
        path.extend(utf8_percent_encode(key, IN_PAIR));
        if let Some(value) = value {
            path.push('=');
            path.extend(utf8_percent_encode(value, IN_PAIR));
        }
    }
    path
}

fn read_body(text: &str) -> Result<Bytes> {
    let Some(file) = text.strip_prefix('@') else { return Ok(Bytes::copy_from_slice(text.as_bytes())) };
    let read = if file == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map(Bytes::from).map_err(|error| Failure::new(format!("could not read `{file}`")).caused_by(&error))
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once(':').ok_or_else(|| format!("`{text}` is not a header; write it like `NAME: VALUE`"))?;
    let (name, value) = (name.trim(), value.trim());
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("`{name}` is not a valid header name"));
    }
    if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(format!("the value of header `{name}` contains control characters"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn print_head(answer: &FunctionAnswer) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", answer.status)?;
    for (name, value) in answer.headers() {
        writeln!(out, "{}", harmless(&format!("{name}: {value}")))?;
    }
    Ok(writeln!(out)?)
}

/// Prints the body unchanged when stdout is not a terminal. On a terminal, control sequences are
/// made harmless and a final newline is added. The body of a failure is an exception's text, so it
/// is always made harmless.
async fn print_body(answer: &mut FunctionAnswer) -> Result<()> {
    let is_terminal = std::io::stdout().is_terminal();
    let mut lines = (is_terminal || answer.status >= 500).then(Lines::default);
    let mut last = b'\n';
    while let Some(chunk) = answer.chunk().await? {
        let whole = match &mut lines {
            Some(lines) => write_data(lines.push(&chunk).as_bytes())?,
            None => write_data(&chunk)?,
        };
        if !whole {
            return Ok(());
        }
        last = chunk.last().copied().unwrap_or(last);
    }
    if let Some(lines) = lines {
        write_data(lines.end().as_bytes())?;
    }
    if last != b'\n' && is_terminal {
        println!();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_query_pairs_to_the_path() {
        let pairs = ["a=1".to_owned(), "b=2".to_owned()];
        assert_eq!(path_with_query("/", &pairs), "/?a=1&b=2");
        assert_eq!(path_with_query("x?c=3", &pairs), "/x?c=3&a=1&b=2");
    }

    #[test]
    fn encodes_query_pairs_literally() {
        for (pair, encoded) in [
            ("a=b c", "/?a=b%20c"),
            ("a=x+y", "/?a=x%2By"),
            ("a=b#c", "/?a=b%23c"),
            ("a=b&c=d", "/?a=b%26c%3Dd"),
            ("a=50%", "/?a=50%25"),
            ("a=%20", "/?a=%2520"),
            ("\u{fc} b=\u{2603}", "/?%C3%BC%20b=%E2%98%83"),
            ("a=", "/?a="),
            ("flag", "/?flag"),
            ("a=1/2?", "/?a=1%2F2%3F"),
        ] {
            assert_eq!(path_with_query("/", &[pair.to_owned()]), encoded, "{pair}");
        }
    }

    #[test]
    fn encodes_a_path_but_keeps_existing_escapes() {
        for (path, encoded) in [
            ("/a b", "/a%20b"),
            ("/a%20b", "/a%20b"),
            ("/a+b&c", "/a+b&c"),
            ("/a#b", "/a%23b"),
            ("/\u{fc}/\u{2603}?q=\u{e9} x", "/%C3%BC/%E2%98%83?q=%C3%A9%20x"),
            ("/orders/{id}", "/orders/%7Bid%7D"),
        ] {
            assert_eq!(path_with_query(path, &[]), encoded, "{path}");
        }
    }

    #[test]
    fn parses_headers_and_rejects_malformed_ones() {
        assert_eq!(parse_header("X-One:  a b "), Ok(("X-One".to_owned(), "a b".to_owned())));
        for wrong in ["nothing", ": x", "a b: c", "a: b\nc"] {
            assert!(parse_header(wrong).is_err(), "{wrong}");
        }
    }
}
