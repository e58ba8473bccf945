use milepost_model::refusal::Field;

/// The member of a request.
pub(super) fn name(field: Field) -> Option<&'static str> {
    Some(match field {
        Field::Expect => "`expect`",
        Field::OnLive => "`\"on\": \"live\"`",
        Field::NoRelease => "`\"release\": false`",
        Field::NoCheck => "`\"check\": false`",
        Field::AllowConflicts => "`\"allowConflicts\": true`",
        Field::Code => "the code or a package",
        Field::Source => "the source",
        Field::BuildCommand => "the build command",
        Field::Environment => "the environment, for example `python`",
        Field::Secrets => "the values of the secrets",
        Field::Key => "the author's public key",
        Field::Health => "another health check, for example a path",
        Field::Async => "`\"sync\": false`",
        Field::Cron => "`cron`, for example `0 3 * * *`",
        Field::FirstAt => "`firstAt`",
        Field::Count => "`count`",
        Field::Unused => "`unused`",
        Field::App => "`app`",
        Field::Now => "`\"now\": true`, which is recorded",
        Field::Channel => "the address of the channel",
        Field::Unknown => return None,
    })
}
