//! How transactions begin.

use super::super::Ending;

/// Limits of every transaction, in the order of `docs/decisions/017-leases-and-time.md`. Set in
/// each one, because a pooler may give the session to another client afterwards.
const LIMITS: [(&str, &str); 4] = [
    ("idle_in_transaction_session_timeout", "10s"),
    ("tcp_user_timeout", "15s"),
    ("lock_timeout", "30s"),
    ("statement_timeout", "60s"),
];

/// Lifts the limits for work that may take any length of time.
pub(in super::super) const UNLIMITED: &str = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0";

/// The statements that begin a transaction, set its limits and return the database's time, in one
/// message.
pub(super) struct Begin {
    write: String,
    read: String,
}

impl Begin {
    /// `options` are those of the URL. A limit that they set is not set again.
    pub(super) fn new(options: &str) -> Self {
        let mut rest = String::new();
        for (name, value) in LIMITS.iter().filter(|(name, _)| !options.contains(name)) {
            rest.push_str(&format!("; SET LOCAL {name} = '{value}'"));
        }
        rest.push_str("; SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)");
        // Reads see one snapshot, as on SQLite. Writes lock the app's row first, so the default
        // isolation level suffices.
        Self { write: format!("BEGIN{rest}"), read: format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY{rest}") }
    }

    pub(super) fn of(&self, ending: Ending) -> &str {
        match ending {
            Ending::ReadOnly => &self.read,
            Ending::Commit | Ending::Forget => &self.write,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use milepost_model::SystemClock;

    use super::super::Postgres;
    use super::*;

    #[tokio::test]
    async fn every_transaction_sets_its_limits() {
        let database = milepost_testkit::postgres::database();
        let told = async |url: &str, ending| {
            let postgres = Postgres::open(url, None, Arc::new(SystemClock)).expect("a URL");
            let show = postgres.transaction(
                |tx| {
                    Box::pin(async {
                        let mut values = Vec::new();
                        for (name, _) in LIMITS {
                            values.push(tx.query_one(&format!("SHOW {name}"), &[]).await?.text(0)?);
                        }
                        Ok(values.join(" "))
                    })
                },
                ending,
            );
            show.await.expect("it answers")
        };
        for ending in [Ending::Commit, Ending::Forget, Ending::ReadOnly] {
            assert_eq!(told(&database.url, ending).await, "10s 15000 30s 1min", "{ending:?}");
        }
        let own = format!("{}?options=-c%20lock_timeout%3D5s%20-c%20statement_timeout%3D7s", database.url);
        assert_eq!(told(&own, Ending::Commit).await, "10s 15000 5s 7s");
    }

    #[tokio::test]
    async fn a_transaction_has_the_time_of_the_database() {
        let database = milepost_testkit::postgres::database();
        let postgres = Postgres::open(&database.url, None, Arc::new(Ahead)).expect("a URL");
        let asked = postgres.transaction(
            |tx| {
                Box::pin(async {
                    let sql = format!("SELECT {}", tx.database_now());
                    Ok((tx.now(), tx.query_one(&sql, &[]).await?.time(0)?))
                })
            },
            Ending::ReadOnly,
        );
        let (now, database) = asked.await.expect("it answers");
        let apart = database.as_millisecond() - now.as_millisecond();
        assert!((0..5000).contains(&apart), "{apart} ms apart");
        assert!((595_000..605_000).contains(&postgres.ahead_ms()), "{} ms ahead", postgres.ahead_ms());
    }

    /// A machine whose clock is ten minutes ahead.
    struct Ahead;

    impl milepost_model::Clock for Ahead {
        fn now(&self) -> milepost_model::Timestamp {
            milepost_model::clock::from_millis(SystemClock.now().as_millisecond() + 600_000)
        }
    }
}
