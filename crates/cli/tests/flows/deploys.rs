use crate::story::Story;

const MANIFEST: &str = "app: shop
version: 1.0.0
functions:
  hello:
    env: python
    src: hello/
    entrypoint: hello.main
config:
  greeting: hi
static:
  - src: public
    path: /
routes:
  - GET /hello: hello
";

fn shop(story: &mut Story) {
    story.file("shop/milepost.yaml", MANIFEST);
    story.file("shop/hello/hello.py", "def main():\n    return 'hello'\n");
    story.file("shop/public/index.html", "<h1>hi</h1>\n");
}

pub fn deploy(story: &mut Story) {
    shop(story);
    story.note("The first deploy makes the app, unless it only says what it would do.");
    story.run("deploy shop --dry-run");
    story.run("deploy shop -m 'the first'");
    story.run("open --app shop --print");
    story.note("What is the same makes nothing; files that an editor leaves behind are no change.");
    story.file("shop/hello/.hello.py.swp", "x");
    story.run("deploy shop");
    story.note("What differs makes one change.");
    story.file("shop/public/index.html", "<h1>hi there</h1>\n");
    story.run("deploy shop --dry-run");
    story.run("deploy shop");
    story.note("After a rollback live stays where it is.");
    story.run("--app shop rollback --yes");
    story.file("shop/hello/hello.py", "def main():\n    return 'hello again'\n");
    story.run("deploy shop");
    story.run("--app shop status");
    story.note("What others put is kept; what the file does not name any more goes.");
    story.run("--app shop route create --url /other --function hello");
    story.run("deploy shop --no-release");
    story.file("shop/milepost.yaml", &MANIFEST.replace("routes:\n  - GET /hello: hello\n", ""));
    story.run("deploy shop --dry-run");
    story.run("deploy shop");
    story.note("Another app, from the same file.");
    story.run("--app other deploy shop -o name");
    story.run("deploy shop --expect aaaaaa");
}

pub fn manifest_mistakes(story: &mut Story) {
    shop(story);
    story.note("Every mistake is reported with its line, before anything is sent.");
    story.file("shop/milepost.yaml", &MANIFEST.replace("entrypoint", "entrypont"));
    story.run("deploy shop");
    story.file("shop/milepost.yaml", &MANIFEST.replace("src: hello/", "src: helo/"));
    story.run("deploy shop");
    story.file("shop/milepost.yaml", &MANIFEST.replace("GET /hello: hello", "GET /hello: helo"));
    story.run("deploy shop");
    story.file("shop/milepost.yaml", "app: shop\n  functions: {}\n");
    story.run("deploy shop");
    story.note("No manifest: a next step.");
    story.run("deploy nowhere");
    story.file("empty/readme.txt", "nothing to see\n");
    story.run("deploy empty");
    story.file("page/index.html", "<p>a page\n");
    story.run("deploy page");
    story.run("init page");
    story.run("init page");
    story.run("deploy page -o name");
}

pub fn calls_and_logs(story: &mut Story) {
    story.run("logs");
    story.run("logs --version 1");
    story.run("logs --since yesterdayish");
    story.run("logs --function nosuch");
    story.run("function test nosuch");
    story.run("fn test --name hello --header nonsense");
    story.run("fn test --name hello --body '{' --json");
    story.run("status");
    story.run("open");
}
