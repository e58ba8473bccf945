use crate::story::Story;

fn three_versions(story: &mut Story) {
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        story.file(
            &format!("hello{number}.js"),
            &format!("module.exports = async () => ({{ status: 200, body: '{text}' }})\n"),
        );
    }
    story.run("function version create --name hello --env nodejs --code hello1.js --version v1.0.0");
    story.run(
        "function version create --name hello --env nodejs --code hello2.js --version v1.0.1 --description second",
    );
    story.run("function version create --name hello --env nodejs --code hello3.js --version v1.0.2");
}

pub fn life_of_a_function(story: &mut Story) {
    story.note("The code becomes a package of its own, in the same change and under the same uid.");
    three_versions(story);
    story.run("function version list --name hello");
    story.run("function list");
    story.run("package version list --name hello-pkg");

    story.note("A label below the newest one is made, with a warning.");
    story.run("function version create --name hello --env nodejs --code hello1.js --version v0.9.0");

    story.note("What is not given is kept; what is the same makes nothing.");
    story.run("function version update --name hello --memory 256Mi --dry-run");
    story.run("function version update --name hello --memory 256Mi");
    story.run("function version update --name hello --memory 256Mi");
    story.file("hello3.js", "module.exports = async () => ({ status: 200, body: 'four' })\n");
    story.run("fn version update --name hello --code hello3.js --dry-run");

    story.note("Every name of a version, and its description, which can be edited.");
    let uid = story.value("function version get --name hello --version 2", "/uid");
    let digest = story.value("function version get --name hello --version 2", "/digest");
    for selector in ["2", &uid, "v1.0.1", "1.0.1", &digest] {
        story.run(&format!("function version get --name hello --version {selector} -o name"));
    }
    story.run("function version describe --name hello --version 2 --description 'the one with two'");

    story.note("What would never be built, and what no server would take, is refused before anything is sent.");
    story.run("function version create --name built --env nodejs --code hello1.js --buildcmd ./build.sh");
    story.run("package version create --name built --env nodejs --deploy hello1.js --buildcmd ./build.sh");
    story.run(
        "package version create --name built --env nodejs --src hello1.js --deploy hello2.js --buildcmd ./build.sh",
    );
    story.run("package version update --name hello-pkg --buildcmd ./build.sh");
    story.run("function version update --name hello --timeout 100h");
    story.run("package list -o name");

    story.note("Its files.");
    story.run("function version download --name hello --version 2 --to two.zip");
}

pub fn aliases(story: &mut Story) {
    three_versions(story);
    story.note("An alias is made, moved, moved back and deleted; no version is.");
    story.run("function alias create --name hello --alias qa --version v1.0.1");
    story.run("function alias create --name hello --alias qa --version v1.0.1");
    story.run("function alias list --name hello");
    story.run("function alias update --name hello --alias qa --version 1.0.2 -m 'tests passed'");
    story.run("function version get --name hello --version @qa -o name");
    story.run("function version list --name hello");
    story.run("function alias rollback --name hello --alias qa -m 'tests did not pass'");
    story.run("function alias get --name hello --alias qa");
    story.run("function alias history --name hello --alias qa");
    story.run("function alias delete --name hello --alias qa");
    story.run("function alias list --name hello");
    story.run("function alias get --name hello --alias qa");
    story.run("function alias create --name hello --alias latest");
}

pub fn groups(story: &mut Story) {
    story.file("foo.js", "module.exports = () => 'foo'\n");
    story.file("bar.js", "module.exports = () => 'bar'\n");
    story.run("function create --name foo --env nodejs --code foo.js —-tag v1.0.0");
    story.run("function create --name bar --env nodejs --code bar.js —-tag v1.0.0");
    story.run("function create --name bar --env nodejs --code bar.js —-tag v1.0.0");
    story.run("group list");
    story.run("group get v1.0.0");
    story.run("group get v2.0.0");
    story.note("What stays as it is joins a group too; its description stays.");
    story.run("function version update --name foo --tag v2.0.0 --description 'the one of spring'");
    story.run("group get v2.0.0");
    story.note("Deleting a group deletes no function.");
    story.run("group delete v1.0.0");
    story.run("group list");
    story.run("function list");
}

pub fn deletes(story: &mut Story) {
    three_versions(story);
    story.note("Everything that uses the version is named, and nothing is deleted.");
    story.run("function alias create --name hello --alias qa --version 3");
    story.run("function alias create --name hello --alias prod --version 3");
    story.run("route create --method GET --url /hello --function hello --version 3");
    story.run("release tag latest beta");
    story.run("release live latest");
    story.run("function version delete --name hello --version 3");
    story.run("function version delete --name hello --version all");
    story.run("package version delete --name hello-pkg --version 3");
    story.run("package delete hello-pkg");
    story.run("environment delete nodejs");
    story.run("function delete hello");

    story.note("Without its users it goes; `latest` steps back, and its number is not given again.");
    story.run("function alias delete --name hello --alias qa");
    story.run("function alias delete --name hello --alias prod");
    story.run("route delete 'GET /hello'");
    story.run("release untag beta");
    story.run("release live --follow");
    story.run("function version delete --name hello --version 3 --dry-run");
    story.run("function version delete --name hello --version 3");
    story.run("function version list --name hello");
    story.run("function version create --name hello --code hello1.js --env nodejs");

    story.note("A package version takes along what was built on it.");
    story.run("package version delete --name hello-pkg --version 2");
    story.note("A function that is deleted and made again goes on counting; its aliases go.");
    story.run("function alias create --name hello --alias qa --version 1");
    story.run("function delete hello --dry-run");
    story.run("function delete hello");
    story.run("function version list --name hello");
    story.run("function create --name hello --code hello2.js --env nodejs");
    story.run("function version list --name hello");
}
