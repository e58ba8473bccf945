//! Refused requests, and the messages that clients show.

use reqwest::Method;
use serde_json::json;

use crate::stage::{Stage, zip};

const CODE: (&str, &str) = ("code", r#"{"source": "package"}"#);
const NOWHERE: &str = "00000000-0000-4000-8000-000000000000";
const MAIN: &str = "def main(**kwargs):\n    return 1\n";

#[test]
fn invalid_functions_are_refused_with_the_interfaces_messages() {
    let stage = Stage::new(&[]);
    let runtime = stage.python();
    let good = || zip(&[("main.py", MAIN)]);
    let post = |zip: Vec<u8>, fields: &[(&str, &str)]| stage.form(Method::POST, "/v1/functions", zip, fields);
    let with = |field: (&'static str, &'static str)| post(good(), &[CODE, ("runtime_id", &runtime), field]);
    stage.refused(post(good(), &[]), 400, "Required param is missing. Required: {'code'}");
    stage.refused(post(good(), &[CODE]), 400, "\"runtime_id\" must be specified.");
    let unknown = format!("Runtime not found [id={NOWHERE}]");
    stage.refused(post(good(), &[CODE, ("runtime_id", NOWHERE)]), 404, &unknown);
    let md5 = ("code", r#"{"source": "package", "md5sum": "d41d8cd98f00b204e9800998ecf8427e"}"#);
    stage.refused(post(good(), &[md5, ("runtime_id", &runtime)]), 400, "Package md5 mismatch.");
    let not_a_zip = post(b"not a zip".to_vec(), &[CODE, ("runtime_id", &runtime)]);
    stage.refused(not_a_zip, 400, "Package is not a valid ZIP package.");
    let cut = good()[..40].to_vec();
    stage.refused(post(cut, &[CODE, ("runtime_id", &runtime)]), 400, "Package is not a valid ZIP package.");
    let no_file = "no file is in it; pack the function's code.";
    let above = "the entry `../main.py` is not a relative path inside the zip (absolute, a drive letter, `..`, or too long); \
                 create the zip again from inside the folder.";
    for (zip, reason) in [(zip(&[]), no_file), (zip(&[("../main.py", MAIN)]), above)] {
        let words = format!("Package is not a valid ZIP package. It is refused: {reason}");
        stage.refused(post(zip, &[CODE, ("runtime_id", &runtime)]), 400, &words);
    }
    for (field, range) in [
        (("timeout", "0"), "timeout resource limitation not within the allowable range: 1 ~ 300(seconds)."),
        (("timeout", "301"), "timeout resource limitation not within the allowable range: 1 ~ 300(seconds)."),
        (("cpu", "99"), "cpu resource limitation not within the allowable range: 100 ~ 300(millicpu)."),
        (("cpu", "301"), "cpu resource limitation not within the allowable range: 100 ~ 300(millicpu)."),
        (
            ("memory_size", "33554431"),
            "memory_size resource limitation not within the allowable range: 33554432 ~ 134217728(bytes).",
        ),
        (
            ("memory_size", "134217729"),
            "memory_size resource limitation not within the allowable range: 33554432 ~ 134217728(bytes).",
        ),
    ] {
        stage.refused(with(field), 400, range);
    }
    for source in ["swift", "image"] {
        let code = format!(r#"{{"source": "{source}"}}"#);
        let (status, answer) = stage.send(post(good(), &[("code", &code), ("runtime_id", &runtime)]));
        assert!(status == 400 && answer["faultstring"].as_str().unwrap().contains("package"), "{answer}");
    }
    let form = stage.request(Method::POST, "/v1/functions").header("content-type", "application/x-www-form-urlencoded");
    let body = format!("code=%7B%22source%22%3A%22package%22%7D&runtime_id={runtime}");
    stage.refused(form.body(body), 400, "Required param is missing. Required: {'package'}");
    let (status, answer) = stage.send(stage.request(Method::POST, "/v1/runtimes").json(&json!({ "image": "nginx" })));
    assert!(status == 400 && answer["faultstring"].as_str().unwrap().contains("python"), "{answer}");
    for image in ["python:2.7", "openstackqinling/python:2.7"] {
        let (status, answer) = stage.send(stage.request(Method::POST, "/v1/runtimes").json(&json!({ "image": image })));
        assert_eq!(status, 400, "{answer}");
        assert!(answer.to_string().contains("python 2.7 is not on the server's PATH"), "{answer}");
    }
    let missing = stage.request(Method::POST, "/v1/runtimes").json(&json!({ "image": null }));
    stage.refused(missing, 400, "Required param is missing. Required: {'image'}");
    assert_eq!(stage.json(Method::GET, "/v1/functions", &json!({}), 200), json!({ "functions": [] }));
}

#[test]
fn executions_jobs_and_aliases_are_refused_with_the_interfaces_messages() {
    let stage = Stage::new(&[]);
    let function = stage.function(&stage.python(), MAIN);
    let post = |path: &str, body: serde_json::Value| stage.request(Method::POST, path).json(&body);
    let get = |path: &str| stage.request(Method::GET, path);
    let either = "Either function_alias or function_id must be provided.";
    for body in [json!({}), json!({ "function_id": null, "function_alias": null, "input": null })] {
        stage.refused(post("/v1/executions", body), 400, either);
    }
    let unknown = format!("Function not found [id={NOWHERE}]");
    stage.refused(post("/v1/executions", json!({ "function_id": NOWHERE })), 404, &unknown);
    let version = json!({ "function_id": function, "function_version": 1 });
    let unpublished = format!("FunctionVersion not found [function_id={function}, version_number=1]");
    stage.refused(post("/v1/executions", version.clone()), 404, &unpublished);
    let alias = "FunctionAlias not found [name=nosuch]";
    stage.refused(post("/v1/executions", json!({ "function_alias": "nosuch" })), 404, alias);
    stage.refused(get("/v1/aliases/nosuch"), 404, alias);
    let (status, _) = stage.send(post("/v1/executions", json!({ "function_id": function, "input": { "a": 1 } })));
    assert_eq!(status, 400, "an input is a text");
    let (status, _) = stage.send(get("/v1/executions").body("{"));
    assert_eq!(status, 200, "the body of a GET is ignored");
    let (status, answer) = stage.send(stage.request(Method::POST, "/v1/executions").body("{nonsense"));
    assert_eq!((status, &answer["faultcode"]), (400, &json!("Client")));
    let large = json!({ "function_id": function, "input": "x".repeat(100 << 20) });
    let (status, answer) = stage.send(post("/v1/executions", large));
    assert_eq!((status, &answer["debuginfo"]), (413, &json!(null)), "{answer}");

    let job = |body: serde_json::Value| {
        let mut whole = json!({ "function_id": function, "name": null, "count": null, "function_alias": null });
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        post("/v1/jobs", whole)
    };
    stage.refused(job(json!({})), 400, "pattern or first_execution_time must be specified.");
    let past = json!({ "first_execution_time": "2020-01-01T00:00:00" });
    stage.refused(job(past), 400, "Execution time must be at least 1 minute in the future.");
    let pattern = "The specified pattern is not valid: 61 * * * *";
    stage.refused(job(json!({ "pattern": "61 * * * *" })), 400, pattern);
    let many = json!({ "first_execution_time": "2099-01-01 00:00:00", "count": 2 });
    stage.refused(job(many), 400, "pattern must be provided if count is greater than 1.");
    let pinned = json!({ "pattern": "0 3 * * *", "function_version": 1 });
    stage.refused(job(pinned), 404, &unpublished);
    stage.refused(post("/v1/jobs", json!({ "pattern": "0 3 * * *" })), 400, either);
    stage.refused(post("/v1/webhooks", json!({})), 400, either);
    stage.refused(post("/v1/webhooks", version), 404, &unpublished);

    let aliased = |version: serde_json::Value| {
        post("/v1/aliases", json!({ "name": "a", "function_id": function, "function_version": version }))
    };
    stage.refused(aliased(json!(1)), 404, &unpublished);
    assert_eq!(stage.send(aliased(json!("one"))).0, 400);
    stage.refused(post("/v1/aliases", json!({ "name": "a", "function_id": NOWHERE })), 404, &unknown);
    assert_eq!(stage.json(Method::GET, "/v1/aliases", &json!({}), 200), json!({ "function_aliases": [] }));

    // `curl -d` sends no JSON content type, and is accepted anyway.
    let put = stage.request(Method::PUT, &format!("/v1/functions/{function}")).body("{\"timeout\": 0}");
    let range = "timeout resource limitation not within the allowable range: 1 ~ 300(seconds).";
    stage.refused(put.header("content-type", "application/x-www-form-urlencoded"), 400, range);
    let versions = format!("/v1/functions/{function}/versions");
    let zero = format!("FunctionVersion not found [function_id={function}, version_number=0]");
    stage.refused(get(&format!("{versions}/0")), 404, &zero);
    assert_eq!(stage.send(get(&format!("{versions}/one"))).0, 400);
    for path in ["functions", "runtimes", "executions", "jobs", "webhooks"] {
        assert_eq!(stage.send(get(&format!("/v1/{path}/not-an-id"))).0, 400, "{path}");
        assert_eq!(stage.send(get(&format!("/v1/{path}/{NOWHERE}"))).0, 404, "{path}");
        assert_eq!(stage.send(get(&format!("/v1/{path}/?nosuch=1"))).0, 400, "{path}");
    }
    assert_eq!(stage.send(get("/v1/nosuch")).0, 404);
    assert_eq!(stage.send(stage.request(Method::PATCH, "/v1/functions")).0, 405);
}

#[test]
fn a_token_is_needed_but_for_the_address_itself() {
    let stage = Stage::new(&[]);
    let (status, root) = stage.send(stage.bare(Method::GET, "/"));
    assert_eq!((status, &root["versions"][0]["id"]), (200, &json!("v1.0")));
    let (status, uri) = stage.send(stage.bare(Method::GET, "/v1/"));
    assert!(status == 200 && uri["uri"].as_str().unwrap().ends_with("/v1/"), "{uri}");
    for path in ["/v1/functions", "/v1/runtimes", "/v1/executions", "/v1/jobs", "/v1/webhooks", "/v1/aliases"] {
        let (status, answer) = stage.send(stage.bare(Method::GET, path));
        assert_eq!((status, &answer["faultcode"]), (401, &json!("Client")), "{path}");
        assert_eq!(stage.send(stage.request_as("wrong", Method::GET, path)).0, 401);
    }
    for path in ["/v1/functions", &format!("/v1/executions/{NOWHERE}/log"), &format!("/v1/webhooks/{NOWHERE}")] {
        assert_eq!(
            stage.send(stage.bare(Method::PATCH, path)).0,
            401,
            "callers without a token learn nothing about {path}"
        );
        assert_eq!(stage.send(stage.request(Method::PATCH, path)).0, 405);
    }
    for path in ["/", "/v1", "/v1/", &format!("/v1/webhooks/{NOWHERE}/invoke")] {
        assert_eq!(stage.send(stage.bare(Method::PATCH, path)).0, 405, "{path} needs no token");
    }
    let bearer = stage.bare(Method::GET, "/v1/functions").bearer_auth(&stage.token);
    assert_eq!(stage.send(bearer).0, 200);
    let call = stage.bare(Method::POST, &format!("/v1/webhooks/{NOWHERE}/invoke"));
    stage.refused(call, 404, &format!("Webhook not found [id={NOWHERE}]"));
}

#[test]
fn a_running_execution_keeps_its_version_and_is_listed_as_its_user() {
    // Nothing is executed here, so queued executions stay queued.
    let stage = Stage::new(&["--executions", "0"]);
    let function = stage.function(&stage.python(), MAIN);
    assert_eq!(stage.publish(&function), 1);
    let body = json!({ "function_id": function, "function_version": 1, "sync": false });
    let execution = stage.json(Method::POST, "/v1/executions", &body, 201);
    assert_eq!((&execution["status"], &execution["result"]), (&json!("running"), &json!(null)));
    let version = format!("/v1/functions/{function}/versions/1");
    let words = "The function version is still associated with running execution(s).";
    let answer = stage.refused(stage.request(Method::DELETE, &version), 403, words);
    let named = format!("execution {}", execution["id"].as_str().unwrap());
    assert_eq!(answer["blockers"], json!([named]));
    let id = stage.json(Method::GET, &version, &json!({}), 200)["id"].as_str().unwrap().to_owned();
    stage.env.run(&["execution", "cancel", execution["id"].as_str().unwrap()]);
    let by_id = format!("/v1/functions/{function}/versions/{id}");
    assert_eq!(stage.send(stage.request(Method::DELETE, &by_id)).0, 204, "also by its id");
}
