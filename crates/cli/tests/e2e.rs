//! End to end: each folder in `cases/` is an app (`milepost.yaml` and its files) and a list of
//! steps (`steps.yaml`), which run against a real server over real sockets.
//!
//! A step deploys, writes a file, runs a command, or sends a request and checks the response.
//! `{release}` is replaced by the release that an earlier `deploy` step recorded under that name.
//! Adding a folder adds a case.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "e2e/case.rs"]
mod case;
#[path = "e2e/play.rs"]
mod play;

/// Runs one folder.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            play::play(stringify!($name)).await;
        })*

        #[test]
        fn every_folder_is_played() {
            let mut named = vec![$(stringify!($name)),*];
            named.sort_unstable();
            assert_eq!(named, case::folders());
        }
    };
}

cases!(python_conventions, node_conventions, static_files, releases_and_hosts, routes, config_and_secrets);
