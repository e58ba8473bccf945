//! Executions accepted per second by the catalog alone: the version is resolved and the row is
//! durable.

use anyhow::Result;
use milepost_catalog::Accept;
use milepost_model::execution::Cause;

use super::options::Options;
use super::{load, stage};
use crate::engine::Engine;
use crate::measure::table;
use crate::serve::report::Spread;

pub async fn run(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for engine in Engine::all().await? {
        let app = stage::app(&engine.catalog, "accept").await?;
        for clients in [1, 16] {
            let (mut ours, mut plain) = (Vec::new(), Vec::new());
            for _ in 0..options.runs {
                let accepted = load::rate(clients, options.length(), || async {
                    let (cause, node) = (Cause::API, "bench".to_owned());
                    let accept = Accept {
                        new: stage::new()?,
                        headers: std::collections::BTreeMap::new(),
                        cause,
                        started_by: "bench".to_owned(),
                        node,
                        key: None,
                    };
                    engine.catalog.execution_accept(&app, accept).await?;
                    Ok(())
                });
                ours.push(accepted.await?);
                plain.push(load::plain(&engine.catalog, clients, options.length() / 2).await?);
            }
            rows.push(vec![
                engine.name.to_owned(),
                clients.to_string(),
                Spread::of(ours.iter().copied()).whole(),
                Spread::of(plain.iter().copied()).whole(),
                load::ratio(&ours, &plain),
            ]);
        }
    }
    table(
        "Async executions accepted per second by the catalog, durable",
        &["engine", "clients", "accepted/s", "plain commits/s", "commits per acceptance"],
        &rows,
    );
    Ok(())
}
