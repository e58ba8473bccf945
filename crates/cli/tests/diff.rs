//! Complete outputs of `milepost diff`, in `snapshots/diff_*.snap`. `INSTA_UPDATE=always cargo test
//! -p milepost-cli --test diff` rewrites them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "flows/diffs.rs"]
mod diffs;
#[path = "flows/story.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod story;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::World;
use common::random::Random;
use serde_json::Value;
use story::Story;

macro_rules! stories {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            let mut story = Story::default();
            diffs::$name(&mut story);
            insta::with_settings!({
                omit_expression => true,
                prepend_module_to_snapshot => false,
                // Times depend on how often the server reads its clock.
                filters => [(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME")],
            }, {
                insta::assert_snapshot!(concat!("diff_", stringify!($name)), story.text());
            });
        })*
    };
}

stories! {
    code,
    files,
    built_packages,
    configuration,
    routes_and_environments,
    secret_values,
    sides,
    json,
}

fn files_of<'a>(diff: &'a Value, kind: &str) -> &'a Vec<Value> {
    let changes = diff["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {diff}"));
    change["reasons"][0]["files"].as_array().unwrap()
}

#[test]
fn more_files_than_an_answer_holds_say_that_their_lines_are_left_out() {
    let world = World::new();
    world.env.write_file("site/index.html", "<h1>hi</h1>\n");
    world.ok("static add site --path /");
    for at in 0..205 {
        world.env.write_file(&format!("site/{at:03}.txt"), format!("{at}\n"));
    }
    world.ok("static add site --path /");
    let diff = world.json("diff 1 2");
    let files = files_of(&diff, "static");
    let with_text = files.iter().filter(|file| file["text"].is_string()).count();
    assert_eq!(with_text, 200);
    for file in &files[200..] {
        assert_eq!((&file["textOmitted"], &file["text"]), (&Value::from("limit"), &Value::Null));
    }
    let text = world.ok("diff 1 2");
    assert!(text.contains("    and 155 more files\n"), "{text}");
    assert!(text.ends_with("\nLines of 5 more files not shown: the diff is too large.\n"), "{text}");
    assert!(world.ok("diff 1 2 --all-files").contains("\n    + 204.txt (4 B)\n"));
    let stat = world.json("diff 1 2 --stat");
    assert!(files_of(&stat, "static").iter().all(|file| file["text"].is_null() && file["textOmitted"].is_null()));
}

#[test]
fn text_beyond_a_mebibyte_is_left_out_and_large_files_are_not_read() {
    let world = World::new();
    let mut random = Random::new(1);
    world.env.write_file("site/index.html", "<h1>hi</h1>\n");
    world.ok("static add site --path /");
    for at in 0..7 {
        let lines: String = (0..2000).map(|_| random.text(99) + "\n").collect();
        world.env.write_file(&format!("site/{at}.txt"), lines);
    }
    world.env.write_file("site/exactly.txt", "x".repeat(256 << 10));
    world.env.write_file("site/large.txt", "x".repeat((256 << 10) + 1));
    world.ok("static add site --path /");
    let diff = world.json("diff 1 2");
    let files = files_of(&diff, "static");
    let omitted = |name: &str| {
        let file = files.iter().find(|file| file["path"] == name).unwrap();
        file["textOmitted"].as_str().map(str::to_owned)
    };
    let told: Vec<Option<String>> = (0..7).map(|at| omitted(&format!("{at}.txt"))).collect();
    let limit = Some("limit".to_owned());
    assert_eq!(told, [None, None, None, None, None, limit.clone(), limit.clone()], "200 KB each");
    assert_eq!(omitted("exactly.txt"), limit, "once it is full, nothing more is added");
    assert_eq!(omitted("large.txt").as_deref(), Some("large"));
}

#[test]
fn a_file_of_the_largest_size_is_compared() {
    let world = World::new();
    let text = "0123456789abcde\n".repeat(16 << 10);
    world.env.write_file("site/exactly.txt", &text);
    world.ok("static add site --path /");
    world.env.write_file("site/exactly.txt", text.replacen("abcde", "ABCDE", 1));
    world.ok("static add site --path /");
    let diff = world.json("diff 1 2");
    let text = files_of(&diff, "static")[0]["text"].as_str().unwrap();
    assert!(text.contains("\n-0123456789abcde\n+0123456789ABCDE\n"), "{text}");
}

/// `git apply` with the diff turns one tree into the other.
#[test]
fn the_texts_together_are_a_patch_that_git_takes() {
    let world = World::new();
    let old = [
        ("changed.py", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"),
        ("removed.py", "gone\n"),
        ("no end.txt", "no end of line"),
        ("crlf.txt", "one\r\ntwo\r\n"),
        ("quoted\"name\".txt", "a\n"),
        ("rewritten.txt", "a\nb\nc\n"),
    ];
    let new = [
        ("changed.py", "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n10\n"),
        ("folder/added.py", "new\n\n--- not a header\n"),
        ("no end.txt", "no end of line\nbut one more\n"),
        ("crlf.txt", "one\r\n2\r\nloose\rreturn\r\n"),
        ("quoted\"name\".txt", "b"),
        ("rewritten.txt", "x\ny\n"),
    ];
    for (path, text) in old {
        world.env.write_file(&format!("site/{path}"), text);
        world.env.write_file(&format!("patched/{path}"), text);
    }
    world.ok("static add site --path /");
    fs::remove_dir_all(world.env.work_dir().join("site")).unwrap();
    for (path, text) in new {
        world.env.write_file(&format!("site/{path}"), text);
    }
    world.ok("static add site --path /");
    let diff = world.json("diff 1 2");
    let patch: String = files_of(&diff, "static").iter().map(|file| file["text"].as_str().unwrap()).collect();
    let patch_file = world.env.write_file("all.patch", &patch);
    let patched = world.env.work_dir().join("patched");
    let git = Command::new("git").arg("apply").arg(&patch_file).current_dir(&patched).output().unwrap();
    assert!(git.status.success(), "{}\n{patch}", String::from_utf8_lossy(&git.stderr));
    for (path, text) in new {
        assert_eq!(fs::read_to_string(patched.join(path)).unwrap(), text, "{path}");
    }
    assert!(!Path::exists(&patched.join("removed.py")));
}
