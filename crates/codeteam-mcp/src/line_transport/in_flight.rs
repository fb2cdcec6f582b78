//! Tracks the requests that are not answered yet, and their weight.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// The requests in flight.
#[derive(Default)]
pub(super) struct RequestsInFlight {
    weights: Mutex<HashMap<RequestId, usize>>,
    ended: Notify,
}

impl RequestsInFlight {
    /// Registers a request; returns `false` if one with the same id is already in flight.
    pub(super) fn start(&self, id: &RequestId, weight: usize) -> bool {
        let mut weights = self.weights();
        if weights.contains_key(id) {
            return false;
        }
        weights.insert(id.clone(), weight);
        true
    }

    /// Removes a request that was answered, or will not be.
    pub(super) fn end(&self, id: &RequestId) {
        self.weights().remove(id);
        self.ended.notify_one();
    }

    /// Waits until the total weight is below `most`.
    pub(super) async fn wait_for_room(&self, most: usize) {
        loop {
            let weight: usize = self.weights().values().sum();
            if weight < most {
                return;
            }
            self.ended.notified().await;
        }
    }

    fn weights(&self) -> MutexGuard<'_, HashMap<RequestId, usize>> {
        self.weights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
