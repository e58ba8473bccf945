//! Names of the jobs and webhooks that started executions.

use std::collections::{BTreeSet, HashMap};

use milepost_model::execution::{CauseKind, Execution};

use crate::db::Tx;
use crate::error::Result;
use crate::tables::{jobs, webhooks};

/// Maximum number of characters shown of a webhook's description, which may be long.
const SHOWN: usize = 60;

/// Fills in the names of causes that have one and still exist.
pub(super) async fn with_names(tx: &mut Tx, executions: &mut [Execution]) -> Result<()> {
    for kind in [CauseKind::Job, CauseKind::Webhook] {
        let of_kind = executions.iter().filter(|execution| execution.cause.kind == kind);
        let ids: BTreeSet<&str> = of_kind.filter_map(|execution| execution.cause.id.as_deref()).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let names: HashMap<String, String> = match kind {
            CauseKind::Job => jobs::names(tx, &ids).await?,
            _ => webhooks::descriptions(tx, &ids).await?,
        };
        for execution in executions.iter_mut().filter(|execution| execution.cause.kind == kind) {
            execution.cause.name = execution.cause.id.as_ref().and_then(|id| names.get(id)).map(|name| short(name));
        }
    }
    Ok(())
}

/// Returns the first line, shortened.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_descriptions_are_cut_to_their_first_line() {
        assert_eq!(short("pushes of the shop\nsee the wiki"), "pushes of the shop");
        assert_eq!(short(&"ü".repeat(61)), format!("{}…", "ü".repeat(60)));
        assert_eq!(short(&"ü".repeat(60)), "ü".repeat(60));
    }
}
