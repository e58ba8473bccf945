//! Concurrency, limits and access: many requests at once, requests for too much, and requests for
//! units of others.

use reqwest::Method;
use serde_json::json;

use crate::stage::{Stage, zip};

const MAIN: &str = "def main(**kwargs):\n    return 1\n";
const CODE: (&str, &str) = ("code", r#"{"source": "package"}"#);

#[test]
fn updates_at_the_same_time_all_stay() {
    updates_at_the_same_time(&Stage::new(&["--executions", "0"]));
}

#[test]
fn slow_the_same_holds_on_postgresql() {
    let database = milepost_testkit::postgres::database();
    let stage = Stage::new(&["--executions", "0", "--database", &database.url]);
    updates_at_the_same_time(&stage);
    an_alias_moves(&stage);
}

fn updates_at_the_same_time(stage: &Stage) {
    let runtime = stage.python();
    let function = stage.function(&runtime, MAIN);
    let function = format!("/v1/functions/{function}");
    let runtime = format!("/v1/runtimes/{runtime}");
    for round in 0..5 {
        let said = format!("round {round}");
        let put = |path: &str, body: serde_json::Value| stage.request(Method::PUT, path).json(&body);
        let answers = stage.send_all(vec![
            put(&function, json!({ "name": said })),
            put(&function, json!({ "description": said })),
            put(&function, json!({ "timeout": 10 + round })),
            put(&runtime, json!({ "name": said })),
            put(&runtime, json!({ "description": said })),
        ]);
        assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");
        let shown = stage.json(Method::GET, &function, &json!({}), 200);
        assert_eq!(
            (&shown["name"], &shown["description"], &shown["timeout"]),
            (&json!(said), &json!(said), &json!(10 + round))
        );
        let shown = stage.json(Method::GET, &runtime, &json!({}), 200);
        assert_eq!((&shown["name"], &shown["description"]), (&json!(said), &json!(said)));
    }
    let same = || stage.form(Method::PUT, &function, zip(&[("main.py", "def main():\n    return 2\n")]), &[]);
    let mut statuses: Vec<u16> = stage.send_all(vec![same(), same()]).iter().map(|(status, _)| *status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400], "equal code is taken once");
}

#[test]
fn an_update_without_effect_does_not_change_updated_at() {
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    stage.publish(&function);
    let path = format!("/v1/functions/{function}");
    let shown = stage.json(Method::PUT, &path, &json!({ "name": "f", "timeout": 5 }), 200);
    assert_eq!(shown["updated_at"], json!(null), "{shown}");
    let shown = stage.json(Method::PUT, &path, &json!({ "name": "g" }), 200);
    assert!(shown["updated_at"].is_string(), "{shown}");
    let version = stage.json(Method::PUT, &format!("{path}/versions/1"), &json!({ "description": "" }), 200);
    assert_eq!(version["updated_at"], json!(null));
    stage.json(
        Method::POST,
        "/v1/aliases",
        &json!({ "name": "a", "function_id": function, "function_version": 1 }),
        201,
    );
    let alias = stage.json(Method::PUT, "/v1/aliases/a", &json!({ "function_version": 1 }), 200);
    assert_eq!(alias["updated_at"], json!(null));
    let alias = stage.json(Method::PUT, "/v1/aliases/a", &json!({ "function_version": 0 }), 200);
    assert!(alias["updated_at"].is_string(), "{alias}");
}

#[test]
fn too_large_bodies_are_refused_with_a_response() {
    let stage = Stage::new(&["--executions", "0"]);
    let runtime = stage.python();
    let function = stage.function(&runtime, MAIN);
    let webhook = stage.json(Method::POST, "/v1/webhooks", &json!({ "function_id": function }), 201);
    let invoke = format!("/v1/webhooks/{}/invoke", webhook["id"].as_str().unwrap());
    let (status, answer) = stage.send(stage.bare(Method::POST, &invoke).body(vec![b'x'; 100 << 20]));
    assert_eq!((status, &answer["faultcode"]), (413, &json!("Client")), "{answer}");

    // Missing permission is reported before any other mistake in the request.
    let reader = stage.token_of("default", "reader");
    let zeros = format!("{{\"a\": [{}0]}}", "0,".repeat(15 << 20));
    let posted = stage.request_as(&reader, Method::POST, "/v1/executions").body(zeros.clone());
    assert_eq!(stage.send(posted).0, 403);
    assert_eq!(stage.send(stage.bare(Method::POST, "/v1/functions").body(zeros.clone())).0, 401);
    assert_eq!(stage.send(stage.request(Method::POST, "/v1/executions").body(zeros)).0, 413);

    let post = |fields: &[(&str, &str)]| {
        stage.form(
            Method::POST,
            "/v1/functions",
            zip(&[("main.py", MAIN)]),
            &[&[CODE, ("runtime_id", &runtime)], fields].concat(),
        )
    };
    let large = "x".repeat(600 << 10);
    assert_eq!(stage.send(post(&[("name", &large), ("description", &large)])).0, 400);
    let (status, made) = stage.send(post(&[("nobody", &large), ("asked", &large)]));
    assert_eq!(status, 201, "what no call looks at is left aside: {made}");
    assert_eq!(stage.send(post(&[("package", "another")])).0, 400, "one package");
    assert_eq!(stage.send(post(&[("name", "a\0b")])).0, 400, "no text has a NUL");
    let number = ("code", r#"{"source": "package", "md5sum": 7}"#);
    assert_eq!(stage.send(post(&[number])).0, 400);
    let left = std::fs::read_dir(stage.env.data_dir()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("v1-upload-")).collect();
    assert!(left.is_empty(), "{left:?}");

    let input = "y".repeat(100 << 10);
    let body = json!({ "function_id": function, "pattern": "0 3 * * *", "function_input": input });
    let job = stage.json(Method::POST, "/v1/jobs", &body, 201);
    let listed = stage.json(Method::GET, "/v1/jobs", &json!({}), 200);
    assert_eq!((&listed["jobs"][0]["id"], &listed["jobs"][0]["function_input"]), (&job["id"], &json!(null)));
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    assert_eq!(stage.json(Method::GET, &path, &json!({}), 200)["function_input"], json!(input));
}

#[test]
fn only_callers_that_see_all_projects_make_public_runtimes() {
    let stage = Stage::new(&["--executions", "0"]);
    let other = stage.token_of("other", "admin");
    let post = |body: serde_json::Value| stage.request_as(&other, Method::POST, "/v1/runtimes").json(&body);
    assert_eq!(stage.send(post(json!({ "image": "python", "is_public": true }))).0, 403);
    let (status, made) = stage.send(post(json!({ "image": "python", "is_public": null })));
    assert_eq!((status, &made["is_public"]), (201, &json!(false)), "{made}");
    let path = format!("/v1/runtimes/{}", made["id"].as_str().unwrap());
    let put = stage.request_as(&other, Method::PUT, &path).json(&json!({ "is_public": true }));
    assert_eq!(stage.send(put).0, 403);
    let listed = stage.json(Method::GET, "/v1/runtimes", &json!({}), 200);
    assert_eq!(listed, json!({ "runtimes": [] }), "other projects do not see it");
    assert_eq!(stage.send(stage.request_as(&other, Method::DELETE, &path)).0, 204);
}

#[test]
fn a_runtime_in_use_keeps_its_image_and_stays() {
    let stage = Stage::new(&["--executions", "0"]);
    let runtime = stage.python();
    let function = stage.function(&runtime, MAIN);
    let path = format!("/v1/runtimes/{runtime}");
    let words = format!("Runtime {runtime} is still in use.");
    stage.refused(stage.request(Method::PUT, &path).json(&json!({ "image": "node" })), 403, &words);
    stage.refused(stage.request(Method::DELETE, &path), 403, &words);
    stage.json(Method::PUT, &path, &json!({ "image": "python", "description": "the same" }), 200);
    assert_eq!(stage.send(stage.request(Method::DELETE, &format!("/v1/functions/{function}"))).0, 204);
    assert_eq!(stage.json(Method::PUT, &path, &json!({ "image": "node" }), 200)["image"], "node");
    assert_eq!(stage.send(stage.request(Method::DELETE, &path)).0, 204);
}

#[test]
fn an_alias_takes_its_jobs_and_webhooks_along_to_another_function() {
    an_alias_moves(&Stage::new(&["--executions", "0"]));
}

fn an_alias_moves(stage: &Stage) {
    let runtime = stage.python();
    let (first, second) = (stage.function(&runtime, MAIN), stage.function(&runtime, MAIN));
    stage.json(Method::POST, "/v1/aliases", &json!({ "name": "a", "function_id": first }), 201);
    let job = json!({ "function_alias": "a", "pattern": "0 3 * * *" });
    let job = stage.json(Method::POST, "/v1/jobs", &job, 201)["id"].as_str().unwrap().to_owned();
    let webhook = stage.json(Method::POST, "/v1/webhooks", &json!({ "function_alias": "a" }), 201);
    let webhook = webhook["id"].as_str().unwrap().to_owned();
    let words = "The function is still associated with running job(s).";
    let answer = stage.refused(stage.request(Method::DELETE, &format!("/v1/functions/{first}")), 403, words);
    let all = [format!("job {job}"), format!("webhook {webhook}"), "alias a".to_owned()];
    assert_eq!(answer["blockers"], json!(all), "all blockers are listed");
    let (status, answer) = stage.send(stage.request(Method::DELETE, "/v1/aliases/a"));
    let words = answer["faultstring"].as_str().unwrap_or_default();
    assert!(status == 403 && words.contains(&job) && words.contains(&webhook), "clients show the text only: {answer}");

    let moved = stage.json(Method::PUT, "/v1/aliases/a", &json!({ "function_id": second }), 200);
    assert_eq!(moved["function_id"], json!(second));
    for path in [format!("/v1/jobs/{job}"), format!("/v1/webhooks/{webhook}")] {
        let shown = stage.json(Method::GET, &path, &json!({}), 200);
        assert_eq!((&shown["function_id"], &shown["function_alias"]), (&json!(null), &json!("a")), "{path}");
    }
    let (status, called) = stage.send(stage.bare(Method::POST, &format!("/v1/webhooks/{webhook}/invoke")));
    assert_eq!(status, 202, "{called}");
    let path = format!("/v1/executions/{}", called["execution_id"].as_str().unwrap());
    assert_eq!(stage.json(Method::GET, &path, &json!({}), 200)["function_id"], json!(second));
    assert_eq!(stage.send(stage.request(Method::DELETE, &format!("/v1/functions/{first}"))).0, 204);

    stage.publish(&second);
    let upper = second.to_uppercase();
    let found =
        |path: String, list: &str| stage.json(Method::GET, &path, &json!({}), 200)[list].as_array().unwrap().len();
    assert_eq!(found(format!("/v1/functions/{second}/versions?function_id={upper}"), "function_versions"), 1);
    assert_eq!(
        found(format!("/v1/aliases?id={}", moved["id"].as_str().unwrap().to_uppercase()), "function_aliases"),
        1
    );
    assert_eq!(found(format!("/v1/executions?function_id={upper}"), "executions"), 1);
}

#[test]
fn outcomes_of_functions_are_reported() {
    let stage = Stage::new(&[]);
    let runtime = stage.python();
    let function = stage.function(&runtime, "import os\n\ndef main(**kwargs):\n    os._exit(3)\n");
    let run = |function: &str| stage.json(Method::POST, "/v1/executions", &json!({ "function_id": function }), 201);
    let ended = run(&function);
    let result = ended["result"].as_str().unwrap();
    assert!(result.contains("exit code 3") && !result.contains("resource"), "{ended}");

    // A function of the same name is a different one.
    assert_eq!(stage.send(stage.request(Method::DELETE, &format!("/v1/functions/{function}"))).0, 204);
    let next = stage.function(&runtime, MAIN);
    let path = format!("/v1/executions/{}", ended["id"].as_str().unwrap());
    assert_eq!(stage.json(Method::GET, &path, &json!({}), 200)["function_id"], json!(null));
    assert_eq!(run(&next)["function_id"], json!(next));
    let own = stage.json(Method::GET, &format!("/v1/executions?function_id={next}"), &json!({}), 200);
    assert_eq!(own["executions"].as_array().unwrap().len(), 1, "{own}");

    // An invalid entry fails, also when the package has only one file.
    stage.json(Method::PUT, &format!("/v1/functions/{next}"), &json!({ "entry": "other.main" }), 200);
    let ended = run(&next);
    assert_ne!(ended["status"], json!("success"), "{ended}");
    assert!(ended["result"].as_str().unwrap().contains("other"), "{ended}");
}

#[test]
fn without_a_token_no_details_are_returned() {
    let stage = Stage::new(&["--executions", "0"]);
    let (status, answer) = stage.send(stage.bare(Method::GET, "/v1/nosuch"));
    let words = answer["faultstring"].as_str().unwrap();
    assert!(status == 401 && words.contains("X-Auth-Token") && !words.contains("Bearer"), "{answer}");
    let (status, answer) = stage.send(stage.request(Method::POST, "/v1/executions").body("{nonsense"));
    assert!(status == 400 && !answer["faultstring"].as_str().unwrap().contains("/api/"), "{answer}");
}
