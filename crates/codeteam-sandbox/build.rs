//! Links the unwinder of GCC into the program.
//!
//! The shim is executed twice for every confined command. As a shared library
//! the unwinder takes the loader a sixth of a millisecond each time, and nothing
//! but the backtrace of a panic ever uses it.

#![allow(clippy::disallowed_methods, reason = "cargo tells by the environment")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_gnu = std::env::var_os("CARGO_CFG_TARGET_ENV").is_some_and(|env| env == "gnu");
    if is_gnu {
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
