//! Rollouts over live: each step of one is one transaction with its pointer move and its event.

mod apply;
mod look;
mod start;
mod ticks;

pub use apply::RolloutEvent;
pub(crate) use apply::roll_back;
pub use start::NewRollout;
pub use ticks::{JudgedTick, NewTick};

use milepost_model::rollout::RolloutView;

use crate::tables::rollouts::RolloutRow;

fn view(row: RolloutRow) -> RolloutView {
    RolloutView {
        id: row.name,
        rollout: row.rollout,
        created_at: row.created_at,
        created_by: row.created_by,
        ended_at: row.ended_at,
    }
}
