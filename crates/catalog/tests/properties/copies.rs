//! Copies of a database, and going back to one.

use milepost_testkit::postgres::{TestDatabase, copy};

use crate::common::{Engine, Fixture};

/// A copy of a whole database.
pub enum Saved {
    Sqlite(tempfile::TempDir),
    Postgres(TestDatabase),
}

impl Fixture {
    pub async fn save(&mut self) -> Saved {
        match &self.engine {
            Engine::Sqlite(_) => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("catalog.db");
                self.engine.batch(&format!("VACUUM INTO '{}'", path.display())).await;
                Saved::Sqlite(folder)
            }
            Engine::Postgres(database, ..) => Saved::Postgres(copy(database)),
        }
    }

    /// Continues on a new copy of `saved`, with other ids from now on.
    pub async fn lose(&mut self, saved: &Saved, seed: u64) {
        self.engine = match saved {
            Saved::Sqlite(folder) => {
                let copy = tempfile::tempdir().unwrap();
                std::fs::copy(folder.path().join("catalog.db"), copy.path().join("catalog.db")).unwrap();
                Engine::Sqlite(copy)
            }
            Saved::Postgres(database) => Engine::Postgres(copy(database), Box::default(), None),
        };
        self.catalog = self.engine.open_with(self.clock.clone(), 1000 + seed).await;
    }
}
