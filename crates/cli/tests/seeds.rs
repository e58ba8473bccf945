//! Every command line printed in seeds 000, 002 and 003 works after the program name is replaced
//! (DESIGN, section 2), and has the described effect. Lines of `spec …` belong to the specs and are
//! tested there.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "seeds/app_versions.rs"]
mod app_versions;
#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "seeds/function_versions.rs"]
mod function_versions;
#[path = "seeds/functions_and_packages.rs"]
mod functions_and_packages;
#[path = "seeds/refusals.rs"]
mod refusals;

use common::World;
use common::files::zip_of;
use milepost_testkit::cli::CliEnv;
use serde_json::Value;

/// A command line of a seed.
struct Row {
    /// Its source: the seed and the number of the paragraph.
    at: &'static str,
    /// The exact line.
    line: &'static str,
    /// The values of its placeholders. `uid(function foo 2)` is looked up.
    fill: &'static [(&'static str, &'static str)],
    /// Commands to run first. `FILE <- TEXT` writes a file; a `.zip` gets one file `build.sh` that
    /// prints the text.
    before: &'static [&'static str],
    /// Expected results: a command, a field of its JSON (of each item of a list), and the value.
    after: &'static [(&'static str, &'static str, &'static str)],
}

const PROGRAMS: [&str; 2] = ["fission ", "skycli "];
const ALL: [&[Row]; 3] = [app_versions::ROWS, function_versions::ROWS, functions_and_packages::ROWS];

#[test]
fn every_line_of_the_seeds_works() {
    let mut world = World::new();
    let mut wrong = Vec::new();
    for (number, row) in ALL.into_iter().flatten().enumerate() {
        prepare(&mut world, &format!("row-{number}"), row.before);
        let line = typed(&world, row.line, row.fill);
        let output = world.run(&line);
        if output.status != Some(0) {
            wrong.push(format!("seed {}: {}", row.at, output.snapshot()));
            continue;
        }
        for (command, field, expected) in row.after {
            let found = select(&world.json(command), field);
            let expected: Value = serde_json::from_str(&filled(&world, expected)).unwrap();
            if found != expected {
                wrong.push(format!("seed {}: {line}\n  then {command}: {field} is {found}, not {expected}", row.at));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn refusals_of_the_seeds() {
    let mut world = World::new();
    for (number, row) in refusals::ROWS.iter().enumerate() {
        prepare(&mut world, &format!("row-{number}"), row.before);
        let before = world.json("app history");
        let output = world.run(row.line);
        assert_eq!(output.status, Some(1), "seed {}: {}", row.at, output.snapshot());
        assert!(output.stderr.contains(row.says), "seed {}: {}", row.at, output.snapshot());
        assert_eq!(world.json("app history"), before, "seed {}: a refusal changes nothing", row.at);
    }
}

/// Makes an app for the row, with the files that the seeds mention.
fn prepare(world: &mut World, app: &str, before: &[&str]) {
    world.env.unset("MILEPOST_APP");
    world.ok(&format!("app create {app}"));
    world.env.set("MILEPOST_APP", app);
    for name in ["hello1.js", "hello2.js", "hello3.js", "foo.js", "bar.js", "foo.py", "bar.py", "new_code.py"] {
        write(&world.env, name, &format!("the first {name}"));
    }
    write(&world.env, "src-archive.zip", "the first build");
    for step in before {
        match step.split_once(" <- ") {
            Some((file, text)) => write(&world.env, file, text),
            None => drop(world.ok(&filled(world, step))),
        }
    }
}

fn write(env: &CliEnv, file: &str, text: &str) {
    if file.ends_with(".zip") {
        let script = format!("#!/bin/sh\necho {text}\ncp -r ${{SRC_PKG}} ${{DEPLOY_PKG}}\n");
        env.write_file(
            file,
            zip_of(&[
                ("build.sh", &script),
                ("index.js", &code("index.js", text)),
                ("main.py", &code("main.py", text)),
            ]),
        );
    } else {
        env.write_file(file, code(file, text));
    }
}

/// A function in the language of the file. It must load, or it would not go live.
fn code(file: &str, text: &str) -> String {
    match file.rsplit_once('.') {
        Some((_, "js")) => format!("module.exports = () => {text:?}\n"),
        Some((_, "py")) => format!("def main():\n    return {text:?}\n"),
        _ => text.to_owned(),
    }
}

/// Removes the program name and replaces the placeholders.
fn typed(world: &World, line: &str, fill: &[(&str, &str)]) -> String {
    let line = PROGRAMS.iter().find_map(|program| line.strip_prefix(program)).unwrap_or(line);
    fill.iter().fold(line.to_owned(), |line, (placeholder, value)| {
        assert!(line.contains(placeholder), "`{placeholder}` is not in `{line}`");
        line.replace(placeholder, &filled(world, value))
    })
}

/// Replaces every `uid(KIND NAME SELECTOR)` with the uid of that version.
fn filled(world: &World, text: &str) -> String {
    let Some((head, rest)) = text.split_once("uid(") else { return text.to_owned() };
    let (inner, tail) = rest.split_once(')').unwrap();
    let [kind, name, selector] = inner.split(' ').collect::<Vec<_>>()[..] else { panic!("uid({inner})") };
    let version = world.json(&format!("{kind} version get --name {name} --version {selector}"));
    format!("{head}{}{}", version["uid"].as_str().unwrap(), filled(world, tail))
}

/// Returns the value at a dotted path, of every item of a list.
fn select(value: &Value, field: &str) -> Value {
    if let Value::Array(items) = value {
        return items.iter().map(|item| select(item, field)).collect();
    }
    match field.split_once('.') {
        Some((first, rest)) => select(&value[first], rest),
        None => value[field].clone(),
    }
}
