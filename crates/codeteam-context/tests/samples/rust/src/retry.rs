use crate::Error;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Policy {
    #[default]
    Never,
    Times(u32),
}

#[derive(Debug)]
pub struct Backoff {
    left: u32,
}

impl Policy {
    pub(crate) const fn backoff(self) -> Backoff {
        match self {
            Self::Never => Backoff { left: 0 },
            Self::Times(left) => Backoff { left },
        }
    }
}

impl Backoff {
    pub(crate) fn delays(&self) -> impl Iterator<Item = u64> {
        (0..self.left).map(|attempt| 100 << attempt)
    }
}

impl From<Error> for Policy {
    fn from(_: Error) -> Self {
        Self::Never
    }
}
