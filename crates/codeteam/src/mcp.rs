//! codeteam as a server of the Model Context Protocol.

pub(crate) mod submit;
