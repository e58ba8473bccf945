use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::super::yaml::{Content, Documents, Node, NotYaml};
use super::*;

fn parse(text: &str) -> Result<Node, NotYaml> {
    let none = NotYaml { line: 1, message: "no document".to_owned(), hint: None };
    Documents::parse(text)?.nodes.into_iter().next().ok_or(none)
}

#[track_caller]
fn written(value: &Yaml, expected: &str) {
    assert_eq!(value.document(), expected);
}

#[test]
fn short_values_are_on_one_line_and_long_ones_are_not() {
    let map = |entries: Vec<Entry>| Yaml::Map(entries);
    let long: Vec<String> = (0..20).map(|number| format!("pattern-{number}/*.py")).collect();
    let value = map(vec![
        entry("app", Yaml::text("shop")),
        Entry { remark: Some("of two\nfolders".to_owned()), ..entry("deployment", Yaml::text("backend")) },
        entry("environments", map(vec![entry("py", map(vec![entry("runtime", Yaml::text("python"))]).short())])),
        entry("secrets", Yaml::texts(["A", "B"])),
        entry("include", Yaml::texts(long.iter().take(2).cloned())),
        entry(
            "routes",
            Yaml::List(vec![
                map(vec![entry("GET /orders/{id}", map(vec![entry("function", Yaml::text("a,b"))]).short())]),
                map(vec![entry("/x", Yaml::text("x")), entry("z", Yaml::text("z"))]),
                Yaml::List(vec![Yaml::List(vec![Yaml::Null]), Yaml::Bare("1".to_owned())]),
            ]),
        ),
        entry("none", map(Vec::new())),
    ]);
    written(
        &value,
        "app: shop\ndeployment: backend  # of two folders\nenvironments:\n  py: { runtime: python }\nsecrets: [A, B]\n\
         include: [pattern-0/*.py, pattern-1/*.py]\nroutes:\n  - GET /orders/{id}: { function: \"a,b\" }\n  - /x: x\n    \
         z: z\n  -\n    -\n      - null\n    - 1\nnone: {}\n",
    );
    let broken = map(vec![entry("include", Yaml::texts(long))]).document();
    assert!(broken.starts_with("include:\n  - pattern-0/*.py\n  - pattern-1/*.py\n"), "{broken}");
}

#[test]
fn quotes_only_where_necessary() {
    for plain in [
        "hello",
        "./build.sh",
        "pip install -r requirements.txt",
        "spec:specs",
        "hello.main",
        "d2aa2980-71d5-40b4",
        "a#b",
        "it's",
        "été",
        "0 3 * * *",
        "128Mi",
        "10s",
    ] {
        written(&Yaml::Map(vec![entry("k", Yaml::text(plain))]), &format!("k: {plain}\n"));
    }
    for quoted in [
        "",
        " a",
        "a ",
        "3.11",
        "1",
        "1e3",
        "0x1f",
        "-1",
        "+1",
        ".5",
        "1_000",
        "12:30:00",
        "true",
        "No",
        "~",
        "NULL",
        ".inf",
        "*.py",
        "a: b",
        "a:",
        "a #b",
        "- a",
        "...",
        "---",
        "=",
        "<<",
        "@a",
        "2026-01-02",
    ] {
        written(&Yaml::Map(vec![entry("k", Yaml::text(quoted))]), &format!("k: \"{quoted}\"\n"));
    }
    written(&Yaml::Map(vec![entry("k", Yaml::text("a\n\u{7f}\u{2028}\"\\"))]), "k: \"a\\n\\x7f\\u2028\\\"\\\\\"\n");
}

/// Strings with a preference for characters that are special in YAML.
fn texts() -> impl Strategy<Value = String> {
    let letters = prop_oneof![
        4 => proptest::sample::select("-?:,[]{}#&*!|>'\"%@`=<~ \t\n\r.0123456789eExo_+\\/abc".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ];
    let words = proptest::sample::select(vec![
        "null",
        "true",
        "False",
        "yes",
        "off",
        "~",
        ".nan",
        "-.inf",
        "+.INF",
        "0o17",
        "0x1F",
        "1e5",
        "1.",
        "<<",
        "---",
        "...",
        "- a",
        "a: b",
        "a #b",
        "2026-01-02",
        "\u{feff}",
        "\u{85}",
        "\u{fffe}",
        "!!str x",
        "%YAML",
        "|",
        ">-",
    ]);
    prop_oneof![
        3 => proptest::collection::vec(letters, 0..12).prop_map(|letters| letters.into_iter().collect::<String>()),
        1 => words.prop_map(str::to_owned),
    ]
}

fn documents() -> impl Strategy<Value = Value> {
    let numbers = prop_oneof![
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        any::<f64>().prop_filter("JSON has no others", |number| number.is_finite()).prop_map(|number| json!(number)),
    ];
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::Bool), numbers, texts().prop_map(Value::String),];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::vec((texts(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn documents_round_trip(value in documents(), key in texts(), remark in texts()) {
        let config = Entry { remark: Some(remark), ..entry(&key, Yaml::from_json(&value)) };
        let short = entry("short", Yaml::from_json(&value).short());
        let text = Yaml::Map(vec![entry("before", Yaml::text("x")), config, short]).document();
        prop_assume!(key != "before" && key != "short");
        let read = parse(&text).map_err(|error| TestCaseError::fail(format!("{error:?} in\n{text}")))?;
        let mut expected = Map::new();
        expected.insert("before".to_owned(), json!("x"));
        expected.insert(key, value.clone());
        expected.insert("short".to_owned(), value);
        prop_assert_eq!(read.to_json(), Value::Object(expected), "{}", text);
    }

    #[test]
    fn strings_round_trip_as_strings(value in texts(), key in texts()) {
        let pair = Yaml::Map(vec![entry(&key, Yaml::text(&*value))]);
        for text in [pair.document(), Yaml::Map(vec![entry("k", pair.clone().short())]).document()] {
            let node = parse(&text).map_err(|error| TestCaseError::fail(format!("{error:?} in\n{text}")))?;
            let Content::Map(mut entries) = node.content else { return Err(TestCaseError::fail(text)) };
            if let Content::Map(inner) = &entries[0].1.content {
                entries = inner.clone();
            }
            prop_assert_eq!(&entries[0].0.text, &key, "{}", text);
            prop_assert_eq!(&entries[0].1.content, &Content::Scalar(json!(value), value.clone()), "{}", text);
        }
    }
}
