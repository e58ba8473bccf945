//! Whole sections in another form than they should have: what is in them is read all the same, and what is told to be unknown
//! is.

use super::*;

/// Each mistake as `line: message`, and each name that nobody has.
#[track_caller]
fn told(text: &str, expected: &[&str]) {
    let (_folder, location) = location();
    let (declared, errors) = look_at_text(text, location);
    let unknown = declared.unresolved();
    let unknown = unknown.into_iter().map(|reference| declared.unknown(reference, &[], None));
    let mut all: Vec<Problem> = errors.into_iter().chain(unknown).collect();
    all.sort_by(|one, other| one.place.cmp(&other.place));
    let all: Vec<String> = all.iter().map(|problem| format!("{}: {}", problem.place.line, problem.message)).collect();
    assert_eq!(all, expected, "of\n{text}");
}

#[test]
fn a_route_may_have_everything_under_keys_of_its_own() {
    let function = "functions:\n  hello: { env: python, src: hello/ }\nroutes:\n";
    for (short, whole) in [
        ("- GET /hello: hello", "- { path: /hello, method: GET, function: hello }"),
        ("- get,POST /hello: hello", "- path: /hello\n  method: [post, GET]\n  function: hello"),
        ("- GET,POST /hello: hello", "- { path: /hello, method: \"GET, POST\", function: hello }"),
        ("- /hello: hello", "- { function: hello, path: /hello }"),
        (
            "- PUT /hello: { function: hello, alias: stable, prefix: true, host: a.example.org, name: mine }",
            "- { name: mine, path: /hello, methods: [PUT], function: hello, alias: stable, prefix: true, host: a.example.org }",
        ),
    ] {
        let puts = |route: &str| {
            let declared = parse(&format!("{function}{route}\n")).expect("a manifest");
            let pointers: Vec<_> = declared.pointers.iter().map(|found| found.version.clone()).collect();
            (declared.units.into_iter().map(|unit| unit.put).collect::<Vec<_>>(), pointers)
        };
        assert_eq!(puts(short), puts(whole), "{whole}");
    }
}

#[test]
fn things_in_a_list_hide_nothing() {
    let routes = "routes:\n- GET /: hello\n- GET /x: helo\n";
    let lines: &[(&str, &[&str])] = &[
        (
            "functions:\n- name: hello\n  env: python\n  src: hello\n",
            &[
                "2: `functions` must be a map of keys, not a list",
                "7: route `GET /x` names function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions:\n- hello:\n  env: python\n  src: hello\n",
            &[
                "2: `functions` must be a map of keys, not a list",
                "7: route `GET /x` names function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions:\n- hello:\n    env: pyton\n    src: hello\n",
            &[
                "2: `functions` must be a map of keys, not a list",
                "3: function `hello` names environment `pyton`, which is not in the manifest",
                "7: route `GET /x` names function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions: [hello]\n",
            &[
                "1: `functions` must be a map of keys, not a list",
                "4: route `GET /x` names function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions: hello\n",
            &[
                "1: `functions` must be a map of keys, not text",
                "4: route `GET /x` names function `helo`, which is not in the manifest",
            ],
        ),
        // Whose name is missing may be any of those that are named.
        (
            "functions:\n  env: python\n  src: helo\n",
            &["2: a function has no name", "3: `src` of a function: there is no"],
        ),
        (
            "functions:\n- env: python\n  src: hello\n",
            &["2: `functions` must be a map of keys, not a list", "2: a function has no name"],
        ),
    ];
    for (text, expected) in lines {
        if text.contains("helo\n") {
            let (_folder, location) = location();
            let (declared, errors) = look_at_text(&format!("{text}{routes}"), location);
            assert!(declared.unresolved().is_empty(), "{text}");
            let found: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.place.line, error.message)).collect();
            assert!(found.iter().zip(*expected).all(|(found, expected)| found.starts_with(expected)), "{found:?}");
            assert_eq!(found.len(), expected.len(), "{found:?}");
        } else {
            told(&format!("{text}{routes}"), expected);
        }
    }
}

#[test]
fn a_package_of_a_function_that_cannot_be_read_is_there() {
    for function in ["hello.py", "{ env: python, src: [a, b] }"] {
        let text = format!(
            "functions:\n  hello: {function}\n  two: {{ package: hello-pkg }}\n  three: {{ package: other-pkg }}\n"
        );
        let (_folder, location) = location();
        let (declared, errors) = look_at_text(&text, location);
        assert_eq!(errors.len(), 1, "{errors:?}");
        let unknown: Vec<String> = declared.unresolved().iter().map(|found| found.key.to_string()).collect();
        assert_eq!(unknown, ["package other-pkg"], "{text}");
    }
}

#[test]
fn sections_in_another_form_are_told_once() {
    let functions = "functions:\n  hello: { env: python, src: hello/ }\n";
    for (text, expected) in [
        (
            "timers:\n- { name: nightly, cron: never, function: helo }\n",
            &[
                "4: `timers` must be a map of keys, not a list",
                "4: timer `nightly`: `cron`: `never` is not a schedule",
                "4: timer `nightly` names function `helo`, which is not in the manifest",
            ][..],
        ),
        (
            "timers: { cron: \"@daily\", function: helo }\n",
            &["3: a timer has no name", "3: a timer names function `helo`, which is not in the manifest"],
        ),
        (
            "routes: { path: /x, function: helo }\n",
            &[
                "3: `routes` must be a list, not a map of keys",
                "3: route `/x` names function `helo`, which is not in the manifest",
            ],
        ),
        (
            "routes:\n  home: { path: /x, function: helo }\n",
            &[
                "4: `routes` must be a list, not a map of keys",
                "4: route `/x` names function `helo`, which is not in the manifest",
            ],
        ),
        (
            "routes:\n- home: { path: /x, function: helo }\n",
            &["4: `home` is not a route", "4: route `/x` names function `helo`, which is not in the manifest"],
        ),
        (
            "static: { /: public, /x: { src: public, fallbak: x } }\n",
            &["3: `static` must be a list, not a map of keys", "3: unknown key `fallbak` in a static item"],
        ),
        ("static: public\n", &["3: `static` must be a list, not text"]),
        ("environments: [py311]\n", &["3: `environments` must be a map of keys, not a list"]),
        ("config: [a]\n", &["3: `config` must be a map of keys, not a list"]),
        (
            "secrets: { A/B: x }\n",
            &[
                "3: `secrets` must be a list of names, not a map of keys",
                "3: `secrets`: `A/B` is not a valid secret name",
            ],
        ),
    ] {
        let (_folder, location) = location();
        let (declared, errors) = look_at_text(&format!("{functions}{text}"), location);
        let unknown = declared.unresolved();
        let unknown = unknown.into_iter().map(|reference| declared.unknown(reference, &[], None));
        let mut all: Vec<Problem> = errors.into_iter().chain(unknown).collect();
        all.sort_by(|one, other| one.place.cmp(&other.place));
        let all: Vec<String> = all.iter().map(|found| format!("{}: {}", found.place.line, found.message)).collect();
        let fits =
            all.len() == expected.len() && all.iter().zip(expected).all(|(found, begin)| found.starts_with(begin));
        assert!(fits, "{all:#?}\nof\n{text}");
    }
}

#[test]
fn a_manifest_in_a_list_is_read_too() {
    told(
        "- app: shop\n- functions:\n    hello: { env: python, src: hello }\n- routes:\n    - GET /x: helo\n",
        &[
            "1: the manifest must be a map of keys, not a list",
            "5: route `GET /x` names function `helo`, which is not in the manifest",
        ],
    );
}
