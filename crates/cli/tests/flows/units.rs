use crate::story::Story;

pub fn config(story: &mut Story) {
    story.run("config get");
    story.run("config set greeting=hi mail.from=a@example.org limits.size=10");
    story.run("config get");
    story.run("config get mail.from");
    story.run("config get mail.to");
    story.note("One changed key is a new version of the one unit; the plan names the key.");
    story.run("config set mail.from=b@example.org --dry-run");
    story.run("config set mail.from=b@example.org");
    story.run("config set mail.from=b@example.org");
    story.run("config unset limits.size --dry-run");
    story.run("config unset limits.size");
    story.run("config unset limits.size");
    story.run("config set greeting.de=hallo");
    story.run("config set greeting");
    story.run("config set a..b=1");
    story.run("config get --version 1");
    story.note("A whole document from a file.");
    story.file("config.yaml", "greeting: hello\nlist: [1, 2]\n");
    story.run("config apply config.yaml --dry-run");
    story.run("config apply config.yaml");
    story.run("config get -o yaml");
    story.file("config.yaml", "greeting: hello\n list: [1\n");
    story.run("config apply config.yaml");
    story.file("config.yaml", "greeting: hello\ngreeting: hi\n");
    story.run("config apply config.yaml");
    story.run("config apply missing.yaml");
    story.note("Without a terminal there is no editor.");
    story.run("config edit");
    story.note("Its versions, and what is said of those that do not exist.");
    story.run("config version list");
    story.run("config version get --version 1 -o name");
    story.run("config version describe --version 1 --description 'the first one'");
    story.run("config get --version 99");
    story.run("config get --version @stable");
    story.note("Removed and set again, it goes on counting.");
    story.run("config delete");
    story.run("config get");
    story.run("config set greeting=hi");
}

pub fn secrets(story: &mut Story) {
    story.file("hello.js", "module.exports = () => 'hello'\n");
    story.run("secret list");
    story.run_with_input("secret set DATABASE_URL --dry-run", "postgres://me:quokka@db/shop\n");
    story.run_with_input("secret set DATABASE_URL", "postgres://me:quokka@db/shop\n");
    story.run("secret list");
    story.note("The same value makes nothing; another one does.");
    story.run_with_input("secret set DATABASE_URL", "postgres://me:quokka@db/shop\n");
    story.run_with_input("secret set DATABASE_URL --dry-run", "postgres://me:okapi@db/shop\n");
    story.run_with_input("secret set DATABASE_URL", "postgres://me:okapi@db/shop\n");
    story.run("diff 1 2");
    story.note("A function names what it wants.");
    story.run("function create --name hello --env nodejs --code hello.js --secret DATABASE_URL");
    story.run("function create --name other --env nodejs --code hello.js --secret API_KEY");
    story.run("secret delete DATABASE_URL");
    story.note("A value on the command line would stay in the history of the shell.");
    story.run("secret set API_KEY=quokka");
    story.run("secret set API_KEY");
    story.run("secret set API_KEY --from-file missing.txt");
    story.note("A file is no secret.");
    story.run_with_input("secret set API_KEY", &"quokka".repeat(11_000));
}

pub fn static_files(story: &mut Story) {
    story.file("site/index.html", "<h1>hi</h1>\n");
    story.file("site/js/app.js", "console.log(1)\n");
    story.file("site/video/large.mp4", "moving pictures\n");
    story.run("static add site --path / --exclude 'video/*.mp4'");
    story.note("Nothing changed: nothing is sent, and there is no version.");
    story.run("static add site --path / --exclude 'video/*.mp4'");
    story.note("One file changed: one file is sent.");
    story.file("site/js/app.js", "console.log(2)\n");
    story.run("static add site --path / --exclude 'video/*.mp4' --dry-run");
    story.run("static add site --path / --exclude 'video/*.mp4'");
    story.run("static add site/video/large.mp4 --path /static/video/large.mp4");
    story.run("static list");
    story.run("static get /");
    story.run("static get / --version 1");
    story.run("static get /missing");
    story.run("static delete /static/video/large.mp4");
    story.run("static add nowhere --path /");
    story.run("static add site --path 'no slash'");
    story.run("static add site --path noslash");
    story.run("static add site --path /empty --exclude '*'");
    story.run("static add site --path /broken --exclude '['");
    story.note("A page that is named must be there.");
    story.run("static add site --path /app --fallback idnex.html");
    story.run("static add site --path /app --fallback index.html");
    story.run("static list -o name");
}

pub fn routes_and_timers(story: &mut Story) {
    story.file("hello.js", "module.exports = () => 'hello'\n");
    story.run("function create --name hello --env nodejs --code hello.js --version v1");
    story.run("function alias create --name hello --alias stable");
    story.run("route create --method GET --url /hello --function hello --version v1");
    story.run("route create --method GET,POST --url '/orders/{id}' --function hello --alias stable");
    story.run("route create --url /plain --function hello");
    story.run("route create --url /plain --function hello");
    story.run("route list");
    story.run("route get 'GET /hello'");
    story.run("route get 'GET /hello' -o name");
    story.run("route get /hello");
    story.run("route create --url /none --function nosuch");
    story.run("route create --url none --function hello");
    story.run("timer create nightly --cron '0 3 * * *' --zone Europe/Berlin --function hello");
    story.run("timer create broken --cron 'now and then' --function hello");
    story.run("route create --url /none --function hello --method FETCH");
    story.run("timer create broken --cron @daily --zone Mars/Base --function hello");
    story.run("timer list");
    story.run("timer delete nightly");
    story.run("route delete 'GET /plain'");
}

pub fn output_formats(story: &mut Story) {
    story.run("config set greeting=hi -o json");
    story.run("config set greeting=hello -o yaml");
    story.run("config set greeting=hey -o name");
    story.run("app list-version --limit 1 -o json");
    story.run("app list-version --limit 1 -o yaml");
    story.run("app list-version -o name");
    story.run("release list -o name");
    story.run("release live -o json");
    story.run("app get -o yaml");
    story.run("function list");
    story.run("function list -o json");
    story.run("function list -o name");
    story.run("config set greeting=ahoy --quiet");
    story.run("config get -o xml");
}
