//! The queue itself.

use std::collections::VecDeque;
use std::future::Future;

use crate::retry::{Backoff, Policy};
use crate::{Error, LIMIT, Result};

/// Something to be done.
///
/// A job is done at most as often as its policy says.
pub trait Job: Send + 'static {
    type Output;
    const NAME: &'static str;

    /// Does it.
    fn run(&mut self, attempt: u32) -> impl Future<Output = Result<Self::Output>> + Send;

    fn describe(&self) -> String {
        format!("{} of {}", Self::NAME, std::any::type_name::<Self>())
    }
}

/// Jobs, first in, first out.
#[derive(Debug, Default)]
pub struct Queue<J> {
    jobs: VecDeque<J>,
    pub(crate) policy: Policy,
}

pub struct Pair<A, B>(pub A, B);

pub union Bits {
    float: f32,
    int: u32,
}

impl<J> Queue<J>
where
    J: Job,
{
    pub fn new() -> Self {
        Self {
            jobs: VecDeque::new(),
            policy: Policy::default(),
        }
    }

    /// Adds a job.
    pub fn push(&mut self, job: J) -> Result<()> {
        if self.jobs.len() >= LIMIT {
            return Err(Error::Full { limit: LIMIT });
        }
        self.jobs.push_back(job);
        Ok(())
    }

    pub async fn drain<F>(&mut self, mut done: F) -> Result<usize>
    where
        F: FnMut(J::Output),
    {
        fn longest(backoff: &Backoff) -> u64 {
            backoff.delays().max().unwrap_or_default()
        }

        let mut count = 0;
        while let Some(mut job) = self.jobs.pop_front() {
            let backoff = self.policy.backoff();
            longest(&backoff);
            done(job.run(count as u32).await?);
            count += 1;
        }
        Ok(count)
    }

    fn peek(&self) -> Option<&J> {
        self.jobs.front()
    }
}

unsafe extern "C" {
    fn getpid() -> i32;
}
