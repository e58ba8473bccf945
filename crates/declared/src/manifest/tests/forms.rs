//! Sections in the wrong form are still read, so their unknown references are reported too.

use super::*;

/// Checks the mistakes and the unresolved references, each as `line: message`.
#[track_caller]
fn reports(text: &str, expected: &[&str]) {
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
fn both_forms_of_a_route_are_equivalent() {
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
fn a_list_instead_of_a_map_hides_no_mistakes() {
    let routes = "routes:\n- GET /: hello\n- GET /x: helo\n";
    let lines: &[(&str, &[&str])] = &[
        (
            "functions:\n- name: hello\n  env: python\n  src: hello\n",
            &[
                "2: `functions` must be a map, not a list",
                "7: route `GET /x` refers to function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions:\n- hello:\n  env: python\n  src: hello\n",
            &[
                "2: `functions` must be a map, not a list",
                "7: route `GET /x` refers to function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions:\n- hello:\n    env: pyton\n    src: hello\n",
            &[
                "2: `functions` must be a map, not a list",
                "3: function `hello` refers to environment `pyton`, which is not in the manifest",
                "7: route `GET /x` refers to function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions: [hello]\n",
            &[
                "1: `functions` must be a map, not a list",
                "4: route `GET /x` refers to function `helo`, which is not in the manifest",
            ],
        ),
        (
            "functions: hello\n",
            &[
                "1: `functions` must be a map, not a string",
                "4: route `GET /x` refers to function `helo`, which is not in the manifest",
            ],
        ),
        // The function without a name may be the referenced one.
        ("functions:\n  env: python\n  src: helo\n", &["2: a function has no name", "3: `src` of a function: `"]),
        (
            "functions:\n- env: python\n  src: hello\n",
            &["2: `functions` must be a map, not a list", "2: a function has no name"],
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
            reports(&format!("{text}{routes}"), expected);
        }
    }
}

#[test]
fn an_unreadable_function_still_declares_its_package() {
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
fn malformed_sections_are_reported_once() {
    let functions = "functions:\n  hello: { env: python, src: hello/ }\n";
    for (text, expected) in [
        (
            "timers:\n- { name: nightly, cron: never, function: helo }\n",
            &[
                "4: `timers` must be a map, not a list",
                "4: timer `nightly`: `cron`: `never` is not a schedule",
                "4: timer `nightly` refers to function `helo`, which is not in the manifest",
            ][..],
        ),
        (
            "timers: { cron: \"@daily\", function: helo }\n",
            &["3: a timer has no name", "3: a timer refers to function `helo`, which is not in the manifest"],
        ),
        (
            "routes: { path: /x, function: helo }\n",
            &[
                "3: `routes` must be a list, not a map",
                "3: route `/x` refers to function `helo`, which is not in the manifest",
            ],
        ),
        (
            "routes:\n  home: { path: /x, function: helo }\n",
            &[
                "4: `routes` must be a list, not a map",
                "4: route `/x` refers to function `helo`, which is not in the manifest",
            ],
        ),
        (
            "routes:\n- home: { path: /x, function: helo }\n",
            &["4: `home` is not a route", "4: route `/x` refers to function `helo`, which is not in the manifest"],
        ),
        (
            "static: { /: public, /x: { src: public, fallbak: x } }\n",
            &["3: `static` must be a list, not a map", "3: unknown key `fallbak` in a static item"],
        ),
        ("static: public\n", &["3: `static` must be a list, not a string"]),
        ("environments: [py311]\n", &["3: `environments` must be a map, not a list"]),
        ("config: [a]\n", &["3: `config` must be a map, not a list"]),
        (
            "secrets: { A/B: x }\n",
            &["3: `secrets` must be a list of names, not a map", "3: `secrets`: `A/B` is not a valid secret name"],
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
fn reads_a_manifest_in_a_list() {
    reports(
        "- app: shop\n- functions:\n    hello: { env: python, src: hello }\n- routes:\n    - GET /x: helo\n",
        &[
            "1: the manifest must be a map, not a list",
            "5: route `GET /x` refers to function `helo`, which is not in the manifest",
        ],
    );
}
