//! Random sequences of calls over HTTP against a model: numbers are never reused, published
//! versions do not change, and versions in use are not deleted.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reqwest::Method;
use serde_json::{Value, json};

use crate::model::{Call, Model};
use crate::stage::{Stage, zip};

const CASES: u32 = 12;

fn sequences() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        3 => Just(Call::Edit),
        4 => Just(Call::Publish),
        6 => any::<u8>().prop_map(Call::Delete),
        2 => (0..3u8, any::<u8>()).prop_map(|(name, version)| Call::Alias(name, version)),
        2 => (0..3u8).prop_map(Call::Unalias),
        2 => any::<u8>().prop_map(Call::Job),
        3 => any::<u8>().prop_map(Call::CancelJob),
        2 => any::<u8>().prop_map(Call::Webhook),
        3 => any::<u8>().prop_map(Call::Unhook),
        1 => Just(Call::DeleteFunction),
    ];
    prop::collection::vec(call, 5..30)
}

fn code(number: u32) -> Vec<u8> {
    zip(&[("main.py", &format!("def main(**kwargs):\n    return {number}\n"))])
}

struct Play<'s> {
    stage: &'s Stage,
    runtime: String,
    function: String,
    model: Model,
}

impl Play<'_> {
    fn path(&self, rest: &str) -> String {
        format!("/v1/functions/{}{rest}", self.function)
    }

    /// Recreates the function. Users see the same name, the interface another id.
    fn create(&mut self) {
        let fields = [("code", r#"{"source": "package"}"#), ("runtime_id", &self.runtime), ("name", "f")];
        let request = self.stage.form(Method::POST, "/v1/functions", code(self.model.code), &fields);
        let (status, made) = self.stage.send(request);
        assert_eq!(status, 201, "{made}");
        self.function = made["id"].as_str().unwrap().to_owned();
    }

    fn delete(&self, path: &str, held: Option<&str>) -> bool {
        let request = self.stage.request(Method::DELETE, path);
        match held {
            Some(words) => {
                let answer = self.stage.refused(request, 403, words);
                assert!(!answer["blockers"].as_array().unwrap().is_empty(), "{answer}");
                false
            }
            None => {
                let (status, answer) = self.stage.send(request);
                assert_eq!(status, 204, "{answer}");
                true
            }
        }
    }

    fn made(&self, path: &str, body: &Value) -> String {
        self.stage.json(Method::POST, path, body, 201)["id"].as_str().unwrap().to_owned()
    }

    fn step(&mut self, call: &Call) {
        match call {
            Call::Edit => {
                let request = self.stage.form(Method::PUT, &self.path(""), code(self.model.code + 1), &[]);
                let (status, answer) = self.stage.send(request);
                // Code cannot change while a job uses the function, whichever version it runs.
                assert_eq!(status, if self.model.jobs.is_empty() { 200 } else { 403 }, "{answer}");
                self.model.code += u32::from(status == 200);
            }
            Call::Publish => {
                let number = self.stage.publish(&self.function);
                self.model.given += 1;
                assert_eq!(number, self.model.given);
                self.model.published.insert(number, self.model.code);
            }
            Call::Delete(position) => {
                let version = self.model.version(*position);
                if version == 0 {
                    let (status, _) = self.stage.send(self.stage.request(Method::DELETE, &self.path("/versions/0")));
                    assert_eq!(status, 404);
                } else if self.delete(&self.path(&format!("/versions/{version}")), self.model.holds(version)) {
                    self.model.published.remove(&version);
                }
            }
            Call::Alias(name, position) => {
                let version = self.model.version(*position);
                let (method, path, status) = match self.model.aliases.insert(*name, version) {
                    Some(_) => (Method::PUT, format!("/v1/aliases/a{name}"), 200),
                    None => (Method::POST, "/v1/aliases".to_owned(), 201),
                };
                let body =
                    json!({ "name": format!("a{name}"), "function_id": self.function, "function_version": version });
                let made = self.stage.json(method, &path, &body, status);
                assert_eq!(made["function_version"], version);
            }
            Call::Unalias(name) => {
                if self.model.aliases.remove(name).is_some() {
                    assert!(self.delete(&format!("/v1/aliases/a{name}"), None));
                }
            }
            Call::Job(position) => {
                let version = self.model.version(*position);
                let body = json!({ "function_id": self.function, "function_version": version, "pattern": "0 3 * * *" });
                self.model.jobs.push((self.made("/v1/jobs", &body), version));
            }
            Call::CancelJob(position) => {
                if !self.model.jobs.is_empty() {
                    let (id, _) = self.model.jobs.remove(usize::from(*position) % self.model.jobs.len());
                    self.stage.json(Method::PUT, &format!("/v1/jobs/{id}"), &json!({ "status": "cancelled" }), 200);
                }
            }
            Call::Webhook(position) => {
                let version = self.model.version(*position);
                let body = json!({ "function_id": self.function, "function_version": version });
                self.model.webhooks.push((self.made("/v1/webhooks", &body), version));
            }
            Call::Unhook(position) => {
                if !self.model.webhooks.is_empty() {
                    let (id, _) = self.model.webhooks.remove(usize::from(*position) % self.model.webhooks.len());
                    assert!(self.delete(&format!("/v1/webhooks/{id}"), None));
                }
            }
            Call::DeleteFunction => {
                if self.delete(&self.path(""), self.model.holds_function()) {
                    self.model = Model { code: self.model.code + 1, ..Model::default() };
                    self.create();
                }
            }
        }
    }

    fn check(&self) {
        let listed = self.stage.json(Method::GET, &self.path("/versions"), &json!({}), 200);
        let numbers: Vec<i64> = listed["function_versions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v["version_number"].as_i64().unwrap())
            .collect();
        assert_eq!(numbers, self.model.numbers().into_iter().collect::<Vec<_>>());
        let shown = self.stage.json(Method::GET, &self.path(""), &json!({}), 200);
        assert_eq!(shown["latest_version"], self.model.published.keys().next_back().copied().unwrap_or(0));
        for (name, version) in &self.model.aliases {
            let alias = self.stage.json(Method::GET, &format!("/v1/aliases/a{name}"), &json!({}), 200);
            assert_eq!((&alias["function_version"], &alias["function_id"]), (&json!(version), &json!(self.function)));
        }
    }

    /// The head and every version still have their code.
    fn check_code(&self) {
        let download = |rest: &str| {
            let path = self.path(&format!("{rest}?download=true"));
            self.stage.bytes(self.stage.request(Method::GET, &path))
        };
        assert!(download("") == code(self.model.code), "the newest code");
        for (number, published) in &self.model.published {
            assert!(download(&format!("/versions/{number}")) == code(*published), "version {number}");
        }
    }
}

#[test]
fn slow_numbers_are_never_reused_and_versions_in_use_stay() {
    // The plan limits releases, not versions. Nothing of the queue is executed.
    let stage = Stage::new(&["--executions", "0"]);
    let runtime = stage.python();
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let done = runner.run(&sequences(), |calls| {
        let mut play =
            Play { stage: &stage, runtime: runtime.clone(), function: String::new(), model: Model::default() };
        play.create();
        for call in &calls {
            play.step(call);
            play.check();
        }
        play.check_code();
        for (id, _) in &play.model.webhooks {
            play.delete(&format!("/v1/webhooks/{id}"), None);
        }
        for name in play.model.aliases.keys() {
            play.delete(&format!("/v1/aliases/a{name}"), None);
        }
        for (id, _) in &play.model.jobs {
            play.delete(&format!("/v1/jobs/{id}"), None);
        }
        play.delete(&play.path(""), None);
        Ok(())
    });
    done.unwrap();
}
