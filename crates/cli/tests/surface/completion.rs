use std::path::Path;
use std::process::Command;

use crate::common::World;

/// Does what bash does on the Tab key, and prints one word per line.
const TAB: &str = r#"
source <(milepost completion bash)
complete -p milepost > /dev/null || exit 3
read -ra COMP_WORDS <<< "$1"
[[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_LINE=$1 COMP_POINT=${#1} COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
_clap_complete_milepost milepost "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// The words that bash offers for a line. No other output is allowed.
fn offered(world: &World, line: &str) -> Vec<String> {
    let milepost = world.env.command(&[]);
    let folder = Path::new(milepost.get_program()).parent().unwrap().to_str().unwrap().to_owned();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", TAB, "bash", line]).env_clear().current_dir(world.env.work_dir());
    for (name, value) in milepost.get_envs() {
        bash.env(name, value.unwrap());
    }
    let search = milepost.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value).unwrap();
    bash.env("PATH", format!("{folder}:{}", search.to_str().unwrap()));
    let output = bash.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|word| !word.is_empty()).map(|word| word.trim().to_owned()).collect()
}

#[test]
fn bash_completes_names_that_the_server_knows() {
    let mut world = World::new();
    world.env.write_file("hello.js", "module.exports = () => 'hello'\n");
    world.ok("function create hello --env nodejs --code hello.js --label v1.0.0");
    world.ok("function create help --env nodejs --code hello.js");
    world.ok("app create shop");
    world.ok("function create other --env nodejs --code hello.js --app shop");
    world.ok("function alias create hello stable");
    world.ok("release tag live good");
    let live = world.json("release show live")["id"].as_str().unwrap().to_owned();

    assert_eq!(offered(&world, "milepost functio"), ["function"]);
    assert_eq!(offered(&world, "milepost function get "), ["hello", "help"]);
    assert_eq!(offered(&world, "milepost fn test --name hel"), ["hello", "help"]);
    assert_eq!(offered(&world, "milepost --app shop function delete "), ["other"]);
    assert_eq!(offered(&world, "milepost function version get hello v"), ["v1.0.0"]);
    assert_eq!(offered(&world, "milepost function alias update hello "), ["stable"]);
    assert_eq!(offered(&world, "milepost logs --function o"), [] as [&str; 0]);
    assert_eq!(offered(&world, "milepost --app s"), ["shop"]);
    let releases = offered(&world, "milepost release live ");
    for name in ["live", "latest", "good", &live] {
        assert!(releases.iter().any(|offered| offered == name), "{name} in {releases:?}");
    }
    assert!(offered(&world, "milepost function get --na").contains(&"--name".to_owned()));
    // Names only, without files.
    assert_eq!(offered(&world, "milepost function get hello.j"), [] as [&str; 0]);
    assert_eq!(offered(&world, "milepost function create new --code hello.j"), ["hello.js"]);

    world.server.stop();
    let without = offered(&world, "milepost function get ");
    assert!(without.iter().all(|word| word.starts_with("--")), "{without:?}");
    assert_eq!(offered(&world, "milepost functio"), ["function"]);
}

#[test]
fn other_shells_get_a_script_of_their_own() {
    let env = milepost_testkit::cli::CliEnv::new();
    for (shell, text) in
        [("zsh", "#compdef milepost"), ("fish", "complete --keep-order"), ("powershell", "Register-ArgumentCompleter")]
    {
        let script = env.run(&["completion", shell]).success();
        assert!(script.contains(text) && script.contains("MILEPOST_COMPLETE"), "{shell}: {script}");
        assert!(script.len() < 5000, "{shell}: {} bytes", script.len());
    }
}
