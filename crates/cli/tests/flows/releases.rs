use crate::story::Story;

pub fn app_versions_as_in_seed_000(story: &mut Story) {
    story.file("hello.js", "module.exports = () => 'hello'\n");
    story.run("app create test-app");
    story.world().env.set("MILEPOST_APP", "test-app");
    story.run("app list-version");
    story.run("config set greeting=hi -m 'update tenant configuration' --no-release");
    story.run("function create --name hello --env nodejs --code hello.js -m 'deploy functions'");
    story.run("release live latest");
    story.run("config set greeting=hello -m 'update tenant configuration'");
    story.run("release tag latest beta");
    story.run("app list-version");
    story.run("app list-history --limit 1");
    story.run("app show");
    story.run("app get");
    story.run("app list");
}

pub fn plan_bound_and_expiry(story: &mut Story) {
    story.run("plan list");
    story.run("app create shop --plan free");
    story.world().env.set("MILEPOST_APP", "shop");
    story.note("Three active releases; the fourth makes the oldest expire.");
    for number in 1..=3 {
        story.run(&format!("config set step={number}"));
    }
    story.run("config set step=4 --dry-run");
    story.run("config set step=4");
    story.run("release list");
    story.run("release list --all");

    story.note("Tagged and live ones are passed over.");
    let oldest = story.release(2);
    story.run(&format!("release tag {oldest} beta"));
    story.run("config set step=5");
    story.run("release list");

    story.note("When all are protected the change is refused before anything is written.");
    let middle = story.release(1);
    story.run(&format!("release tag {middle} stable"));
    story.run("release tag latest edge");
    story.run("config set step=6");
    story.run("config get step");
    story.run("config set step=6 --no-release");
    story.run("release create");
    story.run("release untag beta");
    story.run("release create");

    story.note("An expired one can be released again, under a new id.");
    let expired = story.value("release list --all", "/4/id");
    story.run(&format!("release show {expired}"));
    story.run(&format!("release tag {expired} old"));
    story.run("release untag stable");
    story.run(&format!("release create {expired}"));
    story.run("release list --all");

    story.note("A smaller plan takes effect with the next release; a live one does not expire by hand.");
    story.run("plan set unlimited");
    for number in 7..=8 {
        story.run(&format!("config set step={number}"));
    }
    story.run("plan set free");
    story.run("release list");
    story.run("config set step=9");
    story.run("release expire live");
    story.run("plan set gold");
}

pub fn live_following_and_pinned(story: &mut Story) {
    story.run("release live");
    story.run("config set a=1");
    story.run("config set a=2");
    story.run("release live");
    let first = story.release(1);
    story.run(&format!("release live {first} -m 'the new one is slow'"));
    story.run("release live");
    story.run("config set a=3");
    story.run("app list-version");
    story.run("release show live");
    story.run("release live --follow");
    story.run("config set a=4");
    story.run("release history live");
    story.run("release history latest");
    story.run("release tag latest live");
    story.run("release tag latest Beta");
    story.run("release live nosuch");
    story.note("Pinned where it is, and following again: both are on record.");
    story.run("release live latest -m 'freeze before the fair'");
    story.run("release live --follow");
    story.run("rollback --to live -m 'freeze again'");
    story.run("release history --limit 3");
    story.run("app history --limit 3");
}

pub fn rollback(story: &mut Story) {
    story.run("rollback");
    story.file("site/index.html", "<h1>one</h1>\n");
    story.run("config set greeting=hi mail.from=a@example.org");
    story.run("static add site --path /");
    story.file("site/index.html", "<h1>number two</h1>\n");
    story.run("static add site --path / -m 'a new page'");
    story.run_with_input("secret set API_KEY", "0123456789");

    story.note("First the report, then the move, and a second one goes further back.");
    story.run("rollback --dry-run");
    story.run("rollback -m 'the key is wrong'");
    story.run("rollback --dry-run");

    story.note("A deploy after it does not take live back, and says so.");
    story.run("config set greeting=hello");
    story.run("release live");

    story.note("To a named release; a secret that was removed since comes back with it.");
    let oldest = story.release(4);
    story.run(&format!("rollback --to {oldest} --dry-run"));
    story.run(&format!("rollback --to {oldest}"));
    story.run("secret delete API_KEY");
    let with_secret = story.release(2);
    story.run(&format!("rollback {with_secret} --dry-run"));
    story.run("rollback --to nosuch");

    story.note("To one that lacks what a function of it wants.");
    story.file("hello.js", "module.exports = () => 'hello'\n");
    story.run("function create --name hello --env nodejs --code hello.js --secret API_KEY");
    let without_secret = story.release(0);
    story.run(&format!("rollback {without_secret} --dry-run"));
    story.run(&format!("rollback {without_secret}"));

    story.note("To one that expired: it is released again.");
    let expired = story.release(4);
    story.run(&format!("release expire {expired}"));
    story.run(&format!("rollback --to {expired} --dry-run"));
    story.run(&format!("rollback --to {expired}"));
    story.run("release history");
}

pub fn history_and_time_travel(story: &mut Story) {
    story.file("hello.js", "module.exports = () => 'hello'\n");
    story.run("function create --name hello --env nodejs --code hello.js -m 'the first'");
    story.file("hello.js", "module.exports = () => 'two'\n");
    story.file("lib.js", "module.exports = () => 'lib'\n");
    story.run("function alias create --name hello --alias prod");
    story.run("function version update --name hello --code hello.js --var MODE=fast -m 'the second'");
    story.run("config set greeting=hi");

    story.note("What differs, field by field and file by file.");
    story.run("diff 1 2");
    story.run("diff 1 latest");
    story.run("diff live latest");
    story.run("diff 1 nosuch");

    story.note("What was live, and who did what.");
    let first = story.value("app list-version", "/2/createdAt");
    story.run(&format!("app at {first}"));
    let last = story.value("app list-version", "/0/createdAt");
    story.run(&format!("app at {last}"));
    story.run("app at 2026-02-01");
    story.run("app at 2020-01-01");
    story.run("app at yesterday-ish");
    story.run("app history");
    story.run("app history --limit 2");
}
