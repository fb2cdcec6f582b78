//! Imports of Rust.

use expect_test::expect;

use super::Project;

pub(super) const RUST: &str = r#"
=== Cargo.toml
[workspace]
members = ["crates/*"]
[workspace.dependencies]
serde = "1"
=== crates/shop-core/Cargo.toml
[package]
name = "shop-core"
[dependencies]
serde = { workspace = true }
=== crates/shop-core/src/lib.rs
pub mod cart;
mod prices;
#[path = "odd/place.rs"]
mod placed;
pub use cart::Cart;
use serde::Serialize;
pub struct Error;
=== crates/shop-core/src/cart.rs
mod line;
use self::line::Line;
use crate::prices::{rates::Daily, Rate};
use super::Error;
use std::fmt;
pub struct Cart;
fn total() { crate::placed::inner::look(); prices::nothing(); }
mod tests {
    use super::*;
    use super::line::Line;
    use crate::Cart;
}
=== crates/shop-core/src/cart/line.rs
use super::super::prices;
use super::Cart;
=== crates/shop-core/src/prices/mod.rs
pub mod rates;
use rates::Daily;
=== crates/shop-core/src/prices/rates.rs
use super::Rate;
=== crates/shop-core/src/odd/place.rs
pub mod inner;
=== crates/shop-core/src/odd/inner.rs
=== crates/shop-core/src/stray/undeclared.rs
use crate::cart::line::Line;
=== crates/shop/Cargo.toml
[package]
name = "shop"
[lib]
name = "shop_lib"
[dependencies]
core = { package = "shop-core", path = "../shop-core" }
[[bin]]
name = "extra"
path = "programs/extra.rs"
=== crates/shop/src/lib.rs
pub mod api;
=== crates/shop/src/api.rs
pub use core::cart::line::Line;
use unknown_crate::Thing;
=== crates/shop/src/main.rs
mod cli;
fn main() { shop_lib::api::serve(); }
=== crates/shop/src/cli.rs
use crate::main;
use shop_core::{Cart, cart::{self, Line}};
=== crates/shop/src/bin/tool.rs
use shop_lib::api;
=== crates/shop/programs/extra.rs
use shop_lib::api;
=== crates/shop/tests/it/main.rs
mod common;
mod api;
mod gone;
=== crates/shop/tests/it/common.rs
=== crates/shop/tests/it/api.rs
use crate::common::start;
use super::common;
"#;

#[test]
fn edges() {
    expect![[r"
        crates/shop-core/src/cart.rs
          1: crates/shop-core/src/cart/line.rs (part)
          2: crates/shop-core/src/cart/line.rs
          3: crates/shop-core/src/prices/mod.rs
          3: crates/shop-core/src/prices/rates.rs
          4: crates/shop-core/src/lib.rs
          5: [std]
          7: crates/shop-core/src/odd/inner.rs (mention)
          10: crates/shop-core/src/cart/line.rs
          11: crates/shop-core/src/lib.rs
        crates/shop-core/src/cart/line.rs
          1: crates/shop-core/src/prices/mod.rs
          2: crates/shop-core/src/cart.rs
        crates/shop-core/src/lib.rs
          1: crates/shop-core/src/cart.rs (part)
          2: crates/shop-core/src/prices/mod.rs (part)
          4: crates/shop-core/src/odd/place.rs (part)
          5: crates/shop-core/src/cart.rs
          6: [serde]
        crates/shop-core/src/odd/place.rs
          1: crates/shop-core/src/odd/inner.rs (part)
        crates/shop-core/src/prices/mod.rs
          1: crates/shop-core/src/prices/rates.rs (part)
          2: crates/shop-core/src/prices/rates.rs
        crates/shop-core/src/prices/rates.rs
          1: crates/shop-core/src/prices/mod.rs
        crates/shop-core/src/stray/undeclared.rs
          1: crates/shop-core/src/cart/line.rs
        crates/shop/programs/extra.rs
          1: crates/shop/src/api.rs
        crates/shop/src/api.rs
          1: crates/shop-core/src/cart/line.rs
          2: ? unknown_crate
        crates/shop/src/bin/tool.rs
          1: crates/shop/src/api.rs
        crates/shop/src/cli.rs
          1: crates/shop/src/main.rs
          2: crates/shop-core/src/cart.rs
          2: crates/shop-core/src/lib.rs
        crates/shop/src/lib.rs
          1: crates/shop/src/api.rs (part)
        crates/shop/src/main.rs
          1: crates/shop/src/cli.rs (part)
          2: crates/shop/src/api.rs (mention)
        crates/shop/tests/it/api.rs
          1: crates/shop/tests/it/common.rs
          2: crates/shop/tests/it/common.rs
        crates/shop/tests/it/main.rs
          1: crates/shop/tests/it/common.rs (part)
          2: crates/shop/tests/it/api.rs (part)
          3: ? self::gone
    "]]
    .assert_eq(&Project::of(RUST).told());
}
