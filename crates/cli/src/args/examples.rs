//! Examples, shown at the end of a command's help.

use clap::builder::Styles;

type Examples = &'static [(&'static str, &'static str)];

const EXAMPLES: &[(&str, Examples)] = &[
    (
        "milepost up",
        &[
            ("milepost up", "Deploy this folder and follow its logs"),
            ("milepost up --watch", "Deploy again when a file is saved"),
        ],
    ),
    (
        "milepost init",
        &[
            ("milepost init shop", "Write shop/milepost.yaml"),
            ("milepost init --schema", "Make editors check the milepost.yaml in this folder"),
        ],
    ),
    (
        "milepost deploy",
        &[
            ("milepost deploy --dry-run", "Show what would change"),
            ("milepost deploy -m 'new cart'", "Deploy this folder and record the reason"),
            ("milepost deploy --app shop-staging", "Deploy the same folder as another app"),
        ],
    ),
    (
        "milepost diff",
        &[
            ("milepost diff live latest", "Compare what users get with the newest release"),
            ("milepost diff 3 5", "Compare two app versions by number"),
        ],
    ),
    (
        "milepost rollback",
        &[
            ("milepost rollback --dry-run", "Show what would change"),
            ("milepost rollback", "Put the previous release live again"),
            ("milepost rollback good", "Put the release with the tag `good` live"),
        ],
    ),
    (
        "milepost release",
        &[
            ("milepost release list", "List releases, newest first"),
            ("milepost release tag live good", "Put the tag `good` on what is live"),
            ("milepost release live --follow", "Let new releases go live again"),
        ],
    ),
    (
        "milepost release tag",
        &[
            ("milepost release tag live good", "Put the tag `good` on what is live"),
            ("milepost release tag latest beta", "Put the tag `beta` on the newest release"),
        ],
    ),
    (
        "milepost release live",
        &[
            ("milepost release live", "Show what is live"),
            ("milepost release live good", "Pin live to the release with the tag `good`"),
            ("milepost release live --follow", "Let new releases go live again"),
        ],
    ),
    (
        "milepost logs",
        &[
            ("milepost logs --function hello -f", "Follow the logs of one function"),
            ("milepost logs --since 10m", "Show the last ten minutes"),
        ],
    ),
    (
        "milepost app",
        &[
            ("milepost app list", "List the apps on this server"),
            ("milepost app at '2 hours ago'", "Show what was live two hours ago"),
            ("milepost app show live", "Show every unit of what is live"),
        ],
    ),
    (
        "milepost function",
        &[
            ("milepost function list", "List the functions of the app"),
            ("milepost function test hello", "Call a function without a route"),
            ("milepost function version list hello", "List the versions of a function"),
        ],
    ),
    (
        "milepost function create",
        &[
            ("milepost function create hello --env python --code hello.py --url /hello", "From one file, with a route"),
            ("milepost function create api --env nodejs --code api/ --entrypoint app.main", "From a folder"),
        ],
    ),
    (
        "milepost function test",
        &[
            ("milepost function test hello", "Send a GET request"),
            ("milepost function test hello -d '{}' --json", "Send a POST request with JSON"),
        ],
    ),
    (
        "milepost config",
        &[
            ("milepost config set greeting=hello", "Set a key"),
            ("milepost config get greeting", "Show a key"),
            ("milepost config set greeting=hello --on live", "Change what is live while it is pinned"),
        ],
    ),
    (
        "milepost secret",
        &[
            ("milepost secret set DATABASE_URL", "Type a value; it is not shown"),
            ("milepost secret set TLS_KEY --from-file key.pem", "Read a value from a file"),
            ("milepost secret list", "List the names of the secrets"),
        ],
    ),
    (
        "milepost static",
        &[("milepost static add dist --path / --fallback index.html", "Serve a single-page application")],
    ),
    (
        "milepost route",
        &[
            ("milepost route create --url /hello --function hello", "Send /hello to a function"),
            ("milepost route list", "List the routes of the app"),
        ],
    ),
    (
        "milepost timer",
        &[("milepost timer create nightly --cron '0 3 * * *' --function clean", "Run a function at 3:00 every night")],
    ),
    (
        "milepost execution",
        &[
            ("milepost execution create hello", "Run a function and wait for its result"),
            ("milepost execution create hello --async", "Queue a run"),
            ("milepost execution list", "List past runs"),
        ],
    ),
    (
        "milepost job",
        &[("milepost job create --function report --cron @daily --input '{}'", "Run a function every day")],
    ),
    (
        "milepost webhook",
        &[("milepost webhook create --function deploy --signed", "Create a URL that checks signatures")],
    ),
    (
        "milepost publish",
        &[
            ("milepost publish", "Publish this folder's app under its version"),
            ("milepost publish --pre beta", "Publish to the channel `beta`"),
        ],
    ),
    (
        "milepost install",
        &[
            ("milepost install shop:1.0.0", "Install one version and keep it"),
            ("milepost install --channel https://example.org/channels/shop/stable", "Follow a channel"),
            ("milepost install status", "Show the installed version and the next upgrade"),
        ],
    ),
    (
        "milepost upgrade",
        &[
            ("milepost upgrade --plan", "Show which upgrades come when"),
            ("milepost upgrade", "Install the newest version that the policy allows"),
        ],
    ),
    (
        "milepost serve",
        &[
            ("milepost serve", "Serve apps on 127.0.0.1:8080 and the API on 127.0.0.1:7070"),
            ("milepost serve --gateway 0.0.0.0:80 --domain example.org", "Serve apps to other machines"),
        ],
    ),
    (
        "milepost token",
        &[("milepost token create ci --role deployer --only shop", "Create a token that may deploy one app")],
    ),
];

/// The examples of a command, as a section of its help.
pub fn of(path: &str, styles: &Styles) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(of, _)| *of == path)?;
    Some(super::screen::examples(examples, *styles.get_header(), *styles.get_literal()).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_valid_commands() {
        for (line, _) in EXAMPLES.iter().flat_map(|(_, examples)| *examples) {
            super::super::tree::assert_parses(line);
        }
    }

    #[test]
    fn examples_belong_to_commands() {
        let root = crate::args::Cli::definition();
        for (path, _) in EXAMPLES {
            let mut words = path.split(' ').skip(1);
            let found = words.try_fold(&root, |command, word| command.find_subcommand(word));
            assert!(found.is_some(), "{path}");
        }
    }
}
