use serde_json::Value;

use crate::common::World;

const HELLO: &str = "import milepost, sys

def main(request):
    print('asked for', request.path)
    if request.path == '/broken':
        print('about to break', file=sys.stderr)
        raise ValueError('broken on purpose')
    if request.path == '/sad':
        return 'sad', 503
    body = request.get_data(as_text=True)
    return '%s %s %s %s' % (request.method, milepost.config['greeting'], request.headers.get('x-one'), body)
";

fn world() -> World {
    let world = World::on_machine_time();
    world.env.write_file("hello.py", HELLO);
    world.ok("config set greeting=hi");
    world.ok("function create hello --env python --code hello.py --entrypoint hello.main");
    world
}

fn request_id(stderr: &str) -> &str {
    stderr.rsplit("request ").next().and_then(|rest| rest.split_whitespace().next()).unwrap_or_default()
}

#[test]
fn a_function_can_be_called_without_a_route() {
    let world = world();
    let called = world.run("function test hello --path /x --header 'X-One: 1' --body data");
    assert!(called.succeeded(), "{}", called.snapshot());
    assert_eq!(called.stdout, "POST hi 1 data");
    assert!(called.stderr.starts_with("200 from hello version 1 in "), "{}", called.stderr);
    let with_head = world.ok("fn test --name hello --version 1 -i");
    assert!(with_head.starts_with("200\ncontent-type: text/html"), "{with_head}");

    let sad = world.run("function test hello --path /sad");
    assert_eq!((sad.status, sad.stdout.as_str()), (Some(1), "sad"), "{}", sad.snapshot());
    assert!(sad.stderr.contains("the function returned status 503"), "{}", sad.stderr);
}

#[test]
fn a_request_is_found_in_the_log_by_its_id() {
    let world = world();
    world.ok("function test hello --path /one");
    let broken = world.run("function test hello --path /broken");
    assert_eq!(broken.status, Some(1), "{}", broken.snapshot());
    let hint = broken.stderr.lines().find(|line| line.starts_with("Hint:")).unwrap_or_default().to_owned();
    let id = hint.split("--request ").nth(1).and_then(|rest| rest.split(['`', ' ']).next()).unwrap_or_default();
    assert!(!id.is_empty(), "{}", broken.snapshot());
    let lines = world.ok(&format!("logs --request {id}"));
    for part in
        ["hello@1 out", "asked for /broken", "hello@1 err", "about to break", "hello@1 ---", "broken on purpose"]
    {
        assert!(lines.contains(part), "`{part}` is not in\n{lines}");
    }
    assert!(!lines.contains("asked for /one"), "{lines}");

    let all = world.ok("logs --function hello --version 1 --since 10m -o json");
    let entries: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(entries.iter().any(|entry| entry["text"] == "asked for /one" && entry["source"] == "stdout"), "{all}");
    let newest = world.ok("logs --limit 1");
    assert_eq!(newest.lines().count(), 1, "{newest}");

    let status = world.ok("status");
    assert!(status.contains("Recent errors:") && status.contains("broken on purpose"), "{status}");
    assert!(status.contains(&format!("milepost logs --app default --request {id}")), "{status}");
}

#[test]
fn function_test_prints_the_request_id_of_the_log() {
    let world = world();
    let called = world.run("function test hello --path /here");
    let id = request_id(&called.stderr);
    let lines = world.ok(&format!("logs --request {id}"));
    assert!(lines.contains("asked for /here"), "{}{lines}", called.stderr);
}
