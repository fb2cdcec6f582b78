//! Each rule, and what it lets pass.
