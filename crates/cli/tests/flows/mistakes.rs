use crate::story::Story;

pub fn expectation(story: &mut Story) {
    story.run("config set step=1");
    let seen = story.value("app list-version", "/0/id");
    let token = story.value("token create ann --role deployer", "/token");
    story.note("Ann was faster.");
    story.run_with("MILEPOST_TOKEN", &token, "config set step=2 -m 'a better step'");
    story.run(&format!("config set step=3 --expect {seen}"));
    story.run("config get step");
    story.run("config set step=3 --expect nosuch");
    let head = story.value("app list-version", "/0/id");
    story.run(&format!("config set step=3 --expect {head}"));
    story.note("Ann may change code; she may not make tokens, and nothing any more when hers is deleted.");
    story.run_with("MILEPOST_TOKEN", &token, "token create bob --role admin");
    story.run("token list");
    story.run("token delete ann");
    story.run_with("MILEPOST_TOKEN", &token, "config get");
}

pub fn names_and_selectors(story: &mut Story) {
    story.file("hello.js", "module.exports = () => 'hello'\n");
    story.run("function create --name hello --env nodejs --code hello.js --version v1.0.0");
    story.run("function alias create --name hello --alias stable");
    story.note("Unknown: the closest that exist are named.");
    story.run("function version get --name hello --version v1.0.1");
    story.run("function version get --name hello --version 7");
    story.run("function version get --name hello --version @stabel");
    story.run("function version get --name hello --version sha256:0123");
    story.run("function version get --name hello --version ''");
    story.run("function version get --name hallo");
    story.run("release show nosuch");
    story.run("app show nosuch");
    story.run("--app shop function list");
    story.note("Not names at all.");
    story.run("function create --name 'he llo' --env nodejs --code hello.js");
    story.run("function create --name ../etc --env nodejs --code hello.js");
    story.run("function version create --name hello --code hello.js --env nodejs --version 12");
    story.run("function version create --name hello --code hello.js --env nodejs --version latest");
    story.run("function version create --name hello --code hello.js --env nodejs --version v1.0.0");
    story.run("function alias create --name hello --alias 'not one'");
    story.run("app create Shop");
    story.run("app create default");
    story.run("app delete default");
    story.run("app delete nope");
    story.run("--app 'no app' function list");
    story.note("Things that are not there, or not enough.");
    story.run("function create --name other --env nodejs --code missing.js");
    story.run("function create --name other --env cobol --code hello.js");
    story.run("function create --name other --env pyton --code hello.js");
    story.run("function create --name other --code hello.js");
    story.run("function create --name other --env nodejs");
    story.run("function version update --name other --code hello.js");
    story.run("function version update --name hello --memory lots");
    story.run("storage why sha256:zz");
    story.run("function version download --name hello --to nowhere/hello.zip");
    story.run("storage why sha256:0000000000000000000000000000000000000000000000000000000000000000");
    story.run("function list");
}

pub fn servers_and_tokens(story: &mut Story) {
    story.run("--token wrong app list");
    story.run("--server http://127.0.0.1:9 --token any app list");
    story.run("--server http://127.0.0.1:9 app list");
    story.run("--server ftp://example.org --token any app list");
    story.note("With the token of a reader.");
    let token = story.value("token create eve --role reader", "/token");
    story.run_with("MILEPOST_TOKEN", &token, "app list");
    story.run_with("MILEPOST_TOKEN", &token, "config set a=1");
    story.note("With a token for one app.");
    let only = story.value("token create joe --role deployer --only default", "/token");
    story.run_with("MILEPOST_TOKEN", &only, "config set a=1");
    story.run_with("MILEPOST_TOKEN", &only, "--app shop config set a=1");
    story.note("A token is for the app that the command line names, or for all; a variable has no say in it.");
    story.run_without_data("token create ci --role deployer --app default");
    story.world().env.set("MILEPOST_APP", "default");
    story.run_without_data("token create everywhere --role reader");
    story.world().env.unset("MILEPOST_APP");
    story.run("token create two --role reader --only default --app shop");
    story.run("token list");
    story.note("After the server was killed, and after it was stopped.");
    story.world().server.kill9();
    story.run("app list");
    story.world().server.restart();
    story.world().server.stop();
    story.run("app list");
}

pub fn usage(story: &mut Story) {
    forget_the_data_folder(story);
    story.run("function versoin list --name hello");
    story.run("functoin list");
    story.run("function version list --nmae hello");
    story.run("function version list");
    story.run("function version delete --name hello");
    story.run("function create --name hello --code a --pkg b");
    story.run("release live x --follow");
    story.run("config set");
    story.run("serve --api nowhere");
    story.run("serve --api 127.0.0.1:0 --gateway 127.0.0.1:0 --data d --config missing.toml");
    story.run("serve --api 127.0.0.1:0 --gateway 127.0.0.1:0 --data d --database mysql://me:quokka@db/shop");
    story.run("serve --api 127.0.0.1:0 --gateway 127.0.0.1:0 --data /proc/nowhere");
}

pub fn help(story: &mut Story) {
    forget_the_data_folder(story);
    story.run("--version");
    story.run("--help");
    story.run("function version create --help");
    story.run("rollback --help");
    story.run("release live -h");
    story.run("secret set --help");
}

/// Help and usage print the values of variables, and wrap lines by their length.
fn forget_the_data_folder(story: &mut Story) {
    story.world().env.unset("MILEPOST_DATA");
}
