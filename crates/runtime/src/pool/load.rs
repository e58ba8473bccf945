//! Makes an instance ready without calling it, to find out ahead of time whether a function loads.

use std::sync::Arc;

use super::{Admission, Pool};
use crate::call::CallError;
use crate::executor::{Executor, Slot as _, SlotHome as _, StopReason};

impl<E: Executor> Pool<E> {
    /// Waits for an instance as a call does, and until it reports ready. It stays for the next
    /// call.
    pub async fn load(self: &Arc<Self>, admission: Admission<E>) -> Result<(), CallError> {
        let mut lease = match self.lease(Some(admission), None).await {
            // All instances are busy with calls, so they have loaded.
            Err(CallError::Busy { .. }) if self.lock().healthy() > 0 => return Ok(()),
            lease => lease?,
        };
        let Some(slot) = lease.slot() else { return Err(CallError::Stopping) };
        let bound = self.shared.settings.start;
        let reason = match tokio::time::timeout(bound, slot.ready()).await {
            // Dropping the lease passes the unused slot to the next call.
            Ok(Ok(())) => return Ok(()),
            Ok(Err(reason)) => reason,
            Err(_) => format!("it accepted no connection on the socket that it got within {} s", bound.as_secs_f64()),
        };
        if let Some((_, home)) = lease.into_parts() {
            home.broken(StopReason::Broken);
        }
        Err(CallError::NotReady { reason })
    }
}
