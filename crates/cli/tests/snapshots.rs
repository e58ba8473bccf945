//! Transcripts of commands: each line, its complete output and its exit code, in `snapshots/`.
//! `INSTA_UPDATE=always cargo test -p milepost-cli --test snapshots` rewrites them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "flows/deploys.rs"]
mod deploys;
#[path = "flows/functions.rs"]
mod functions;
#[path = "flows/mistakes.rs"]
mod mistakes;
#[path = "flows/releases.rs"]
mod releases;
#[path = "flows/story.rs"]
mod story;
#[path = "flows/units.rs"]
mod units;

use story::Story;

macro_rules! stories {
    ($($module:ident::$name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            let mut story = Story::default();
            $module::$name(&mut story);
            insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(stringify!($name), story.text());
            });
        })*
    };
}

stories! {
    deploys::deploy,
    deploys::manifest_mistakes,
    deploys::calls_and_logs,
    functions::life_of_a_function,
    functions::aliases,
    functions::groups,
    functions::deletes,
    releases::app_versions_as_in_seed_000,
    releases::plan_bound_and_expiry,
    releases::live_following_and_pinned,
    releases::rollback,
    releases::history_and_time_travel,
    units::config,
    units::secrets,
    units::static_files,
    units::routes_and_timers,
    units::output_formats,
    mistakes::expectation,
    mistakes::names_and_selectors,
    mistakes::servers_and_tokens,
    mistakes::usage,
    mistakes::help,
}
