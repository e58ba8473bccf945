//! Digests are a promise: a new Milepost must never create new versions of unchanged content. If
//! one of these tests fails, a model change has altered the canonical form of existing content.
//! Give new fields a default that is left out instead of changing the expected value.

#![expect(clippy::expect_used, reason = "test code: a step that fails ends the test")]

use milepost_model::spec::{
    ConfigSpec, EnvironmentSpec, FunctionPermission, FunctionSpec, PackageSpec, Pin, RouteSpec, Runtime, Scale,
    SecretSpec, StaticSpec, Target, TimerSpec,
};
use milepost_model::{Digest, UnitSpec};
use serde_json::json;

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn pin(name: &str, number: i64) -> Pin {
    Pin { name: name.parse().expect("a name"), number: Some(number), digest: digest(name) }
}

fn target() -> Target {
    Target { function: "hello".parse().expect("a name"), alias: None, version: None }
}

fn function() -> FunctionSpec {
    FunctionSpec {
        entrypoint: "main.main".to_owned(),
        package: pin("hello-pkg", 3),
        environment: pin("python", 1),
        variables: [("KEY".to_owned(), "value".to_owned())].into(),
        secrets: ["DATABASE_URL".parse().expect("a name")].into(),
        configmaps: Default::default(),
        permission: FunctionPermission::Token,
        memory: 256 << 20,
        cpu: 500,
        timeout_ms: 10_000,
        scale: Scale { min: 1, max: 4, concurrency: 2, idle_ms: 300_000 },
    }
}

/// The smallest function: all other fields have their defaults and are left out of the form.
fn plain_function() -> FunctionSpec {
    FunctionSpec {
        entrypoint: String::new(),
        variables: Default::default(),
        secrets: Default::default(),
        configmaps: Default::default(),
        permission: FunctionPermission::Public,
        memory: 128 << 20,
        cpu: 1000,
        timeout_ms: 60_000,
        scale: Scale::default(),
        ..function()
    }
}

fn check(spec: &UnitSpec, canonical: &str, hex: &str) {
    let bytes = milepost_model::canonical::content_bytes(spec.kind(), &spec.behaviour());
    assert_eq!(String::from_utf8(bytes).expect("text"), canonical);
    assert_eq!(spec.digest().hex(), hex);
}

#[test]
fn the_canonical_form_of_every_kind_is_fixed() {
    for (spec, expected) in specs().into_iter().zip(EXPECTED) {
        check(&spec, expected.0, expected.1);
    }
}

fn specs() -> [UnitSpec; 9] {
    [
        UnitSpec::Environment(EnvironmentSpec {
            runtime: Runtime::Python,
            interpreter: "3.11".to_owned(),
            builder: String::new(),
            variables: Default::default(),
        }),
        UnitSpec::Secret(SecretSpec { fingerprint: digest("a keyed digest") }),
        UnitSpec::Config(ConfigSpec {
            document: json!({ "b": 1.5, "a": [true, null, "ü"], "big": 1e21, "nested": { "y": -0.0, "x": 10 } }),
        }),
        UnitSpec::Package(PackageSpec {
            environment: pin("python", 1),
            source: Some(digest("source")),
            build_command: "./build.sh".to_owned(),
            deployment: None,
            build_log: None,
        }),
        UnitSpec::Function(function()),
        UnitSpec::Function(plain_function()),
        UnitSpec::Static(StaticSpec {
            path: "/static".to_owned(),
            tree: digest("tree"),
            file: false,
            index: "index.html".to_owned(),
            fallback: Some("app.html".to_owned()),
            error_page: None,
            clean: false,
            expires_ms: None,
        }),
        UnitSpec::Route(RouteSpec {
            methods: ["GET".to_owned(), "POST".to_owned()].into(),
            path: "/orders/{id}".to_owned(),
            prefix: false,
            strip: false,
            fission: false,
            host: String::new(),
            target: Target { version: Some(pin("hello", 2)), ..target() },
        }),
        UnitSpec::Timer(TimerSpec { cron: "0 3 * * *".to_owned(), zone: "Europe/Berlin".to_owned(), target: target() }),
    ]
}

#[test]
fn the_number_of_a_pinned_version_is_not_behaviour() {
    let other = FunctionSpec { package: pin("hello-pkg", 9), ..function() };
    assert_eq!(UnitSpec::Function(other).digest(), UnitSpec::Function(function()).digest());
}

#[test]
fn stored_specs_round_trip() {
    for spec in specs() {
        let json = serde_json::to_string(&spec).expect("serialises");
        assert_eq!(UnitSpec::from_json(spec.kind(), &json).expect("reads back"), spec);
    }
}

const EXPECTED: [(&str, &str); 9] = [
    (
        r#"{"format":1,"kind":"environment","spec":{"interpreter":"3.11","runtime":"python"}}"#,
        "318e6bfd32075c3d0b77ed18837d42426c11392fa23e66c60c37e6e883d215d5",
    ),
    (
        r#"{"format":1,"kind":"secret","spec":{"fingerprint":"sha256:c85fe50f6fb0c2b0d9fea96d3bb181cfc652c87981afe80c26fa300c6ef72816"}}"#,
        "b277d83be5487b32aae83c2fe7f0a4ddc8d3b25cae4713853fcffcd92fc56583",
    ),
    (
        r#"{"format":1,"kind":"config","spec":{"document":{"a":[true,null,"ü"],"b":1.5,"big":1e+21,"nested":{"x":10,"y":0}}}}"#,
        "2838f5dde7d134759999c927e7c25c147fd28e246276c6c258d95593e0aa88ce",
    ),
    (
        r#"{"format":1,"kind":"package","spec":{"buildCommand":"./build.sh","environment":{"digest":"sha256:11a4a60b518bf24989d481468076e5d5982884626aed9faeb35b8576fcd223e1","name":"python"},"source":"sha256:41cf6794ba4200b839c53531555f0f3998df4cbb01a4d5cb0b94e3ca5e23947d"}}"#,
        "3b9709c7286cc5e3c3d2f8cb03c0a9859d124f21139cd404020e7a9fba076e8b",
    ),
    (
        r#"{"format":1,"kind":"function","spec":{"cpu":500,"entrypoint":"main.main","environment":{"digest":"sha256:11a4a60b518bf24989d481468076e5d5982884626aed9faeb35b8576fcd223e1","name":"python"},"memory":268435456,"package":{"digest":"sha256:10e881b7bf8699c7985a6e35d88dd60f41ab90206dc2f0616a80641f7ace9f67","name":"hello-pkg"},"permission":"token","scale":{"concurrency":2,"idleMs":300000,"max":4,"min":1},"secrets":["DATABASE_URL"],"timeoutMs":10000,"variables":{"KEY":"value"}}}"#,
        "d9be2279d8087e8fc42be893c2db50e13186c14d167c8cb6c3ea2d1056f7ee21",
    ),
    (
        r#"{"format":1,"kind":"function","spec":{"environment":{"digest":"sha256:11a4a60b518bf24989d481468076e5d5982884626aed9faeb35b8576fcd223e1","name":"python"},"package":{"digest":"sha256:10e881b7bf8699c7985a6e35d88dd60f41ab90206dc2f0616a80641f7ace9f67","name":"hello-pkg"}}}"#,
        "cbdee033587c65b6ecf94751f9acddb9e97e944da1c591536b4b10c5f5bce01f",
    ),
    (
        r#"{"format":1,"kind":"static","spec":{"fallback":"app.html","path":"/static","tree":"sha256:dc9c5edb8b2d479e697b4b0b8ab874f32b325138598ce9e7b759eb8292110622"}}"#,
        "1da0125ec448532185b47171bebc2c310d8736e750996004587af5335e2084c1",
    ),
    (
        r#"{"format":1,"kind":"route","spec":{"function":"hello","methods":["GET","POST"],"path":"/orders/{id}","version":{"digest":"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","name":"hello"}}}"#,
        "64c2a3c6b76fff064e9d1af8f2cec72101f93029fb9292c30a98261e15c46777",
    ),
    (
        r#"{"format":1,"kind":"timer","spec":{"cron":"0 3 * * *","function":"hello","zone":"Europe/Berlin"}}"#,
        "a671381985c7a66a51c50b850f7c3c496817f515ea566dc9909a4e657f6c6d7f",
    ),
];
