//! The requests that are not answered yet, and how much they weigh.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Requests on their way.
#[derive(Default)]
pub(super) struct RequestsInFlight {
    weights: Mutex<HashMap<RequestId, usize>>,
    ended: Notify,
}

impl RequestsInFlight {
    /// A request came in; `false` if one with its id is there already.
    pub(super) fn start(&self, id: &RequestId, weight: usize) -> bool {
        let mut weights = self.weights();
        if weights.contains_key(id) {
            return false;
        }
        weights.insert(id.clone(), weight);
        true
    }

    /// A request was answered, or will not be.
    pub(super) fn end(&self, id: &RequestId) {
        self.weights().remove(id);
        self.ended.notify_one();
    }

    /// Waits until less than this is on its way.
    pub(super) async fn room(&self, most: usize) {
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
