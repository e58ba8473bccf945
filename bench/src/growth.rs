//! A change of one unit in an app of 500 units, after 10, 1,000 and 10,000 app versions.

use anyhow::Result;

use crate::engine::{self, Engine};
use crate::measure::{Runs, table, time};

const UNITS: usize = 500;
const SAMPLE: usize = 200;

pub async fn run() -> Result<()> {
    let mut rows = Vec::new();
    for engine in Engine::all().await? {
        let app = engine::app(&engine.catalog, "grow").await?;
        let units = (0..UNITS).map(|index| engine::environment(index, 0)).collect::<Result<Vec<_>>>()?;
        engine.catalog.change(&app, engine::change(units, true)).await?.unapplied();
        let mut made = 1;
        let mut first: Option<Runs> = None;
        for history in [10, 1_000, 10_000] {
            while made + SAMPLE < history {
                engine
                    .catalog
                    .change(&app, engine::change(vec![engine::environment(made % UNITS, made)?], true))
                    .await?
                    .unapplied();
                made += 1;
            }
            let before = engine.catalog.bench_database_size().await?;
            let mut runs = Runs::default();
            for _ in 0..SAMPLE {
                let input = engine::change(vec![engine::environment(made % UNITS, made)?], true);
                let (done, took) = time(engine.catalog.change(&app, input)).await;
                done?.unapplied();
                runs.push(took);
                made += 1;
            }
            let per_change = engine.catalog.bench_database_size().await?.saturating_sub(before) / SAMPLE as u64;
            let against = first.get_or_insert_with(|| runs.clone());
            rows.push(vec![
                engine.name.to_owned(),
                history.to_string(),
                runs.text(),
                format!("{:.2}x", runs.ratio(against)),
                format!("{:.1} KB", per_change as f64 / 1024.0),
            ]);
        }
    }
    table(
        "A change of one unit in an app of 500 units",
        &["engine", "app versions", "one change", "against the first line", "catalog growth a change"],
        &rows,
    );
    Ok(())
}
