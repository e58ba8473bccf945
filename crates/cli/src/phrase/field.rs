use milepost_model::refusal::Field;

/// The option for a field, with a value or an example.
pub fn option(field: Field) -> Option<&'static str> {
    Some(match field {
        Field::Expect => "`--expect VERSION`",
        Field::Code => "`--code FILE`, `--src FOLDER`, `--deploy ZIP` or `--pkg PACKAGE`",
        Field::Source => "the source with `--src`",
        Field::BuildCommand => "`--buildcmd COMMAND`",
        Field::Environment => "the environment with `--env`, like `--env python`",
        Field::Secrets => "each with `--secret NAME=VALUE` or `--secret-file NAME=FILE`",
        Field::Key => "the author's public key with `--key`",
        Field::Health => "another check, like `--health /healthz`",
        Field::AllowConflicts => "`--allow-conflicts` to take them over",
        Field::NoCheck => "`--no-check` to skip the check",
        Field::NoRelease => "`--no-release` to keep the change without a release",
        Field::OnLive => "`--on live` to change what is live",
        Field::Async => "`--async` to queue it",
        Field::Cron => "`--cron`, like `--cron '0 3 * * *'`",
        Field::FirstAt => "`--first-at TIME`",
        Field::Count => "`--count N`",
        Field::Unused => "`unused`",
        Field::App => "`--app NAME`",
        Field::Now => "`--now` to install it anyway, which is recorded",
        Field::Channel => "the address of the channel with `--channel URL`",
        Field::Unknown => return None,
    })
}

/// The option for a field, without a value.
pub fn name(field: Field) -> Option<&'static str> {
    Some(match field {
        Field::Expect => "`--expect`",
        Field::Code => "`--code`, `--src`, `--deploy` and `--pkg`",
        Field::Source => "`--src`",
        Field::BuildCommand => "`--buildcmd`",
        Field::Environment => "`--env`",
        Field::Secrets => "`--secret`",
        Field::Key => "`--key`",
        Field::Health => "`--health`",
        Field::AllowConflicts => "`--allow-conflicts`",
        Field::NoCheck => "`--no-check`",
        Field::NoRelease => "`--no-release`",
        Field::OnLive => "`--on live`",
        Field::Async => "`--async`",
        Field::Cron => "`--cron`",
        Field::FirstAt => "`--first-at`",
        Field::Count => "`--count`",
        Field::Unused => "`unused`",
        Field::App => "`--app`",
        Field::Now => "`--now`",
        Field::Channel => "`--channel`",
        Field::Unknown => return None,
    })
}
