//! Reads a page of history and resolves selectors, with 1,000 to 1,000,000 versions of one unit.

use anyhow::Result;
use milepost_catalog::Page;
use milepost_model::change::UnitKey;
use milepost_model::{Selector, UnitKind, UnitName};

use crate::engine::{self, Engine};
use crate::measure::{Runs, table, time};

const SAMPLE: usize = 200;

pub async fn run() -> Result<()> {
    let mut rows = Vec::new();
    for engine in Engine::all().await? {
        let app = engine::app(&engine.catalog, "long").await?;
        engine.catalog.change(&app, engine::change(vec![engine::config(0)], true)).await?.unapplied();
        let key = UnitKey { kind: UnitKind::Config, name: UnitName::config() };
        for versions in [1_000_i64, 10_000, 100_000, 1_000_000] {
            engine.catalog.bench_fill(&app, key.clone(), versions).await?;
            let middle = engine.catalog.version_get(&app, key.clone(), Selector::Number(versions / 2)).await?;
            let selectors = [
                ("latest", Selector::Latest),
                ("number", Selector::Number(versions / 2)),
                ("uid", Selector::Word(middle.uid.clone())),
                ("digest", Selector::Digest(middle.digest.hex())),
            ];
            let mut row = vec![engine.name.to_owned(), versions.to_string()];
            for (_, selector) in selectors {
                let mut runs = Runs::default();
                for _ in 0..SAMPLE {
                    let (found, took) = time(engine.catalog.version_get(&app, key.clone(), selector.clone())).await;
                    found?;
                    runs.push(took);
                }
                row.push(micros(&runs));
            }
            for below in [None, Some(versions / 2)] {
                let mut runs = Runs::default();
                for _ in 0..SAMPLE {
                    let (found, took) = time(engine.catalog.app_version_list(&app, Page { below, limit: 20 })).await;
                    found?;
                    runs.push(took);
                }
                row.push(micros(&runs));
            }
            rows.push(row);
        }
    }
    table(
        "Resolving a selector, and a page of 20 app versions (median, 99th percentile)",
        &["engine", "versions", "latest", "number", "uid", "digest", "newest page", "page in the middle"],
        &rows,
    );
    Ok(())
}

fn micros(runs: &Runs) -> String {
    format!("{} us, {} us", runs.median().as_micros(), runs.percentile(99).as_micros())
}
