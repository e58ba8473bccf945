use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use crate::story::Story;

fn path(story: &mut Story, relative: &str) -> PathBuf {
    story.world().env.work_dir().join(relative)
}

fn set_executable(story: &mut Story, relative: &str, executable: bool) {
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(path(story, relative), fs::Permissions::from_mode(mode)).unwrap();
}

fn link(story: &mut Story, relative: &str, target: &str) {
    let path = path(story, relative);
    // It may not exist yet.
    let _ = fs::remove_file(&path);
    symlink(target, &path).unwrap();
}

const HELLO: &str = "def main():\n    name = \"world\"\n    return f\"hello {name}\"\n";

pub fn code(story: &mut Story) {
    story.file("hello/main.py", HELLO);
    story.file("hello/words.py", "WORDS = []\n");
    story.run("function create --name hello --env python --code hello");
    story.file("hello/main.py", &HELLO.replace("world", "moon"));
    story.note("The plan says which file it is, and what else gets a version because of it.");
    story.run("function version update --name hello --code hello --dry-run");
    story.run("function version update --name hello --code hello");
    story.run("diff 1 2");
    story.note("The other way round, and without the lines.");
    story.run("diff 2 1");
    story.run("diff 1 2 --stat");
    story.run("diff 1 2 -o name");
    story.note("A new function comes with its code, a removed one goes with it.");
    story.file("other.py", "def main():\n    return 'other'");
    story.run("function create --name other --env python --code other.py --var MODE=fast");
    story.run("diff 2 3");
    story.run("function delete other");
    story.run("diff 3 4 --stat");
}

pub fn files(story: &mut Story) {
    story.file("site/index.html", "<h1>hi</h1>\n");
    story.file("site/gone.txt", "this goes\n");
    story.file("site/old/name.txt", "this moves\n");
    story.file("site/run.sh", "echo hi\n");
    story.file("site/both.sh", "echo hi\n# and more\n");
    story.file("site/v1.txt", "one\n");
    story.world().env.write_file("site/logo.png", [0x89, b'P', b'N', b'G', 0, 1, 2, 0xff]);
    link(story, "site/current", "v1.txt");
    link(story, "site/becomes-a-file", "v1.txt");
    story.run("static add site --path / --quiet");

    story.file("site/index.html", &format!("<h1>hi</h1>\n{}", format!("<p>{}</p>\n", "more".repeat(40)).repeat(7)));
    fs::remove_file(path(story, "site/gone.txt")).unwrap();
    fs::create_dir(path(story, "site/new")).unwrap();
    fs::rename(path(story, "site/old/name.txt"), path(story, "site/new/place.txt")).unwrap();
    set_executable(story, "site/run.sh", true);
    story.file("site/both.sh", "echo hello\n# and more\n");
    set_executable(story, "site/both.sh", true);
    story.file("site/v2.txt", "two\n\tindented\nwith \u{1b}[31mcolour\u{1b}[0m\n");
    story.file("site/empty.txt", "");
    story.file("site/windows.txt", "one\r\ntwo\r\n");
    story.world().env.write_file("site/logo.png", [0x89, b'P', b'N', b'G', 0, 1, 2, 3, 0xff]);
    story.world().env.write_file("site/large.bin", vec![b'x'; 300 << 10]);
    link(story, "site/current", "v2.txt");
    fs::remove_file(path(story, "site/becomes-a-file")).unwrap();
    story.file("site/becomes-a-file", "a file\n");
    story.run("static add site --path / --quiet");
    story.run("diff 1 2");

    story.note("Back, without its lines.");
    set_executable(story, "site/run.sh", false);
    story.run("static add site --path / --quiet");
    story.run("diff 2 3");
    story.run("diff 2 1 --stat");
}

pub fn built_packages(story: &mut Story) {
    let create = "package version create --name src-pkg --env python --src src --deploy built";
    story.file("src/user.py", "import yaml\n\ndef main():\n    return 1\n");
    story.file("src/build.sh", "pip install -r requirements.txt\n");
    story.file("built/user.py", "import yaml\n\ndef main():\n    return 1\n");
    story.file("built/yaml/__init__.py", "VERSION = 5\n");
    story.world().ok(create);
    story.world().ok("function create --name foo --pkg src-pkg --entrypoint user.main --env python");

    story.file("src/user.py", "import yaml\n\ndef main():\n    return 2\n");
    story.file("built/user.py", "import yaml\n\ndef main():\n    return 2\n");
    story.file("built/yaml/__init__.py", "VERSION = 6\n");
    story.file("built/yaml/loader.py", "pass\n");
    story.world().ok(create);
    story.run("function version update --name foo --pkg src-pkg --dry-run");
    story.world().ok("function version update --name foo --pkg src-pkg");
    story.note("What people wrote; what a build made of it is counted.");
    story.run("diff 2 4");
    story.note("All of it.");
    story.run("diff 2 4 --all-files");
    story.note("Only what was built differs: then that is what there is to see.");
    story.file("built/yaml/__init__.py", "VERSION = 7\n");
    story.world().ok(create);
    story.run("diff 4 head");
    story.note("New as a whole.");
    story.world().ok(&create.replace("src-pkg", "other"));
    story.run("diff 5 6 --stat");
}

pub fn configuration(story: &mut Story) {
    let hosts = |changed: &str| -> String {
        (1..=12).map(|at| format!("  - host-{at}{}.example.org\n", if at == 7 { changed } else { "" })).collect()
    };
    let text = |word: &str| format!("{} {word} {}", "lorem ipsum".repeat(20), "dolor sit amet".repeat(20));
    let document = |changed: &str, mail: &str, word: &str| {
        format!(
            "greeting: hi\nretries: 3\nroles: [reader, writer]\nmail:\n  from: a@example.org\n{mail}hosts:\n{}motto: {}\n",
            hosts(changed),
            text(word)
        )
    };
    let motd = "motd: |\n  Welcome.\n  The shop is open.\n  Have fun.\n";
    story.file("config.yaml", &(document("", "", "one") + motd + "old:\n  a: 1\n  b: {c: 2}\n"));
    story.run("config apply config.yaml");
    let mail = "  smtp:\n    host: mail.example.org\n    port: 25\n";
    let motd = motd.replace("open", "closed");
    let changed = document("-new", mail, "two").replace("retries: 3", "retries: '3'").replace("writer", "editor");
    story.file("config.yaml", &(changed + &motd + "new: []\n"));
    story.run("config apply config.yaml --dry-run");
    story.run("config apply config.yaml");
    story.run("diff 1 2");
    story.run("diff 2 1");
}

pub fn routes_and_environments(story: &mut Story) {
    story.file("hello.py", "def main():\n    return 1\n");
    story.run("environment create --name py --runtime python");
    story.run("function create --name hello --env py --code hello.py");
    story.run("route create --method GET --url /hello --function hello");
    story.run("timer create nightly --cron '0 3 * * *' --function hello");

    story.note("Another environment: the packages and functions on it stay until they are moved.");
    story.run("environment update --name py --runtime python --interpreter 3.11");
    story.run("function version update --name hello --env py --memory 256Mi --var MODE=fast");
    story.run("diff 4 head");

    story.note("A route that is pinned, and follows again.");
    story.run("route update --method GET --url /hello --function hello --version 1");
    story.run("diff 6 7");
    story.run("route update --method GET --url /hello --function hello");
    story.run("diff 7 8");
    story.run("timer update nightly --cron '30 3 * * *' --function hello");
    story.run("route delete 'GET /hello'");
    story.run("diff 8 head");
}

pub fn secret_values(story: &mut Story) {
    story.file("hello.js", "module.exports = () => 'hello'\n");
    story.run_with_input("secret set API_KEY", "quokka\n");
    story.run_with_input("secret set API_KEY", "okapi\n");
    story.run("function create --name hello --env nodejs --code hello.js --secret API_KEY");
    story.run("diff 1 2");
    story.run("diff 1 2 -o yaml");
    story.run("diff 1 3 --stat");
    assert!(!story.text().contains("quokka") && !story.text().contains("okapi"), "{}", story.text());
}

pub fn sides(story: &mut Story) {
    story.run("config set greeting=one");
    story.run("release tag latest good");
    story.run("config set greeting=two");
    story.run("config set greeting=three --no-release");
    let first = story.value("app list-version", "/2/id");
    let release = story.release(0);

    story.note("Tags, live, latest, ids of app versions and of releases, numbers.");
    story.run("diff good live");
    story.run(&format!("diff {first} {release}"));
    story.run("diff latest head");
    story.run("diff 3 1");

    story.note("Nothing differs.");
    story.run("diff live latest");
    story.run("diff live live -o json");
    story.run("config set greeting=two");
    story.run("config set greeting=two --no-release");
    story.run("diff 2 4");

    story.note("Sides that there are not.");
    story.run("diff nope live");
    story.run("diff lvie god");
    story.run("diff good goood");
    story.run(&format!("diff live {}x", &release[..release.len() - 1]));
    story.run("diff 1");
    story.run("diff 1 99");
}

pub fn json(story: &mut Story) {
    story.file("hello/main.py", HELLO);
    story.file("hello/a.txt", "moves\n");
    story.world().env.write_file("hello/data.bin", [0, 1, 2]);
    story.run("function create --name hello --env python --code hello");
    story.file("hello/main.py", &HELLO.replace("world", "moon"));
    story.world().env.write_file("hello/data.bin", [0, 1, 2, 3]);
    fs::rename(path(story, "hello/a.txt"), path(story, "hello/b.txt")).unwrap();
    link(story, "hello/link", "b.txt");
    set_executable(story, "hello/main.py", true);
    story.run("function version update --name hello --code hello");
    story.run("diff 1 2 -o json");
    story.run("diff 1 2 --stat -o yaml");
}
