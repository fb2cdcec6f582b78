//! Import graphs of small projects, written by hand, one a language; and what holds for all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_context::imports::{Graph, Reached, Source, Way};
use codeteam_context::language::Language;
use codeteam_context::outline::{Form, Import, outline};
use expect_test::expect;
use proptest::prelude::*;

/// Files and their texts; a path alone is planned.
struct Project {
    files: BTreeMap<String, String>,
}

impl Project {
    /// Reads `=== path` lines, each followed by the file's text.
    fn of(text: &str) -> Self {
        let mut files = BTreeMap::new();
        for part in text.split("=== ").skip(1) {
            let (path, text) = part.split_once('\n').unwrap();
            files.insert(path.trim().to_owned(), text.to_owned());
        }
        Self { files }
    }

    fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    fn graph(&self) -> Graph {
        let imports: Vec<(&String, Vec<Import>)> = self
            .files
            .iter()
            .map(|(path, text)| {
                let language = Language::of(path);
                let imports = language.map(|language| outline(text, language).imports);
                (path, imports.unwrap_or_default())
            })
            .collect();
        let sources: Vec<Source<'_>> = imports
            .iter()
            .map(|(path, imports)| Source { path, imports })
            .collect();
        Graph::of(&sources, &|path| self.files.get(path).cloned())
    }

    /// Every edge with its line, and what leads elsewhere.
    fn told(&self) -> String {
        let graph = self.graph();
        let mut out = String::new();
        for file in graph.files() {
            let mut lines: Vec<(u32, String)> = Vec::new();
            for to in graph.imports_of(file) {
                for shown in graph.why(file, to) {
                    let form = match shown.form {
                        Form::Import => "",
                        Form::Types => " (types)",
                        Form::Part => " (part)",
                        Form::Mention => " (mention)",
                        Form::Within => " (within)",
                    };
                    lines.push((shown.line, format!("{to}{form}")));
                }
            }
            for outside in graph.outside(file) {
                let package = outside.package.map_or_else(
                    || format!("? {}", outside.module),
                    |package| format!("[{package}]"),
                );
                lines.push((outside.shown.line, package));
            }
            lines.sort();
            if !lines.is_empty() {
                writeln!(out, "{file}").unwrap();
            }
            for (line, to) in lines {
                writeln!(out, "  {line}: {to}").unwrap();
            }
        }
        out
    }
}

const PYTHON: &str = r#"
=== pyproject.toml
[project]
name = "shop"
dependencies = ["requests>=2", "PyYAML", "google-cloud-storage"]
[dependency-groups]
dev = ["pytest"]
=== src/shop/__init__.py
from .cart import Cart
from shop import prices
=== src/shop/cart.py
from __future__ import annotations
import os, json
import requests
import yaml
from google.cloud import storage
from . import prices, nothing
from .prices import rates as r, daily
from .models.user import User
from ..outside import x
import shop.models.user
import redis
=== src/shop/prices/__init__.py
from .rates import daily
=== src/shop/prices/rates.py
def daily(): ...
=== src/shop/json.py
import json
=== src/shop/models/user.py
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from shop.cart import Cart
import shop.missing
=== src/shop/native.pyi
x: int
=== src/plugins/paper/press.py
from shop.native import x
from plugins.paper import fold
import plugins.paper.fold
=== src/plugins/paper/fold.py
import importlib
shop = importlib.import_module("shop.cart")
=== tests/conftest.py
import pytest
from helpers import make
=== tests/helpers.py
import shop
from shop.cart import Cart
=== tests/unit/test_cart.py
from helpers import make
import conftest
from tests.helpers import make as again
=== examples/requests.py
import types
=== examples/types.py
=== tools/release.py
import requests, types
from shop.prices import rates
import helpers
"#;

#[test]
fn python() {
    expect![[r"
        examples/requests.py
          1: examples/types.py
        src/plugins/paper/fold.py
          1: [importlib]
          2: src/shop/cart.py
        src/plugins/paper/press.py
          1: src/shop/native.pyi
          2: src/plugins/paper/fold.py
          3: src/plugins/paper/fold.py
        src/shop/__init__.py
          1: src/shop/cart.py
          2: src/shop/prices/__init__.py
        src/shop/cart.py
          2: [json]
          2: [os]
          3: [requests]
          4: [yaml]
          5: [google]
          6: src/shop/__init__.py
          6: src/shop/prices/__init__.py
          7: src/shop/prices/__init__.py
          7: src/shop/prices/rates.py
          8: src/shop/models/user.py
          9: ? ..outside
          10: src/shop/models/user.py
          11: ? redis
        src/shop/json.py
          1: [json]
        src/shop/models/user.py
          1: [typing]
          3: src/shop/cart.py (types)
          4: ? shop.missing
        src/shop/prices/__init__.py
          1: src/shop/prices/rates.py
        tests/conftest.py
          1: [pytest]
          2: tests/helpers.py
        tests/helpers.py
          1: src/shop/__init__.py
          2: src/shop/cart.py
        tests/unit/test_cart.py
          1: tests/helpers.py
          2: tests/conftest.py
          3: tests/helpers.py
        tools/release.py
          1: [requests]
          1: [types]
          2: src/shop/prices/rates.py
          3: tests/helpers.py
    "]]
    .assert_eq(&Project::of(PYTHON).told());
}

const SCRIPT: &str = r##"
=== package.json
{ "private": true, "workspaces": ["packages/*"], "devDependencies": { "vitest": "1", "@types/lodash": "4" } }
=== tsconfig.base.json
{
  // What all share.
  "compilerOptions": {
    "baseUrl": ".",
    "paths": { "@shop/util": ["packages/util/source/main.ts"], "~lib/*": ["lib/*", "fallback/*"], /* last */ },
  },
}
=== packages/web/tsconfig.json
{ "extends": "../../tsconfig.base", "compilerOptions": { "strict": true } }
=== packages/web/package.json
{ "name": "@shop/web", "dependencies": { "react": "19", "@tanstack/react-query": "5" }, "imports": { "#db": { "node": "./src/db.node.ts", "default": "./src/db.ts" } } }
=== packages/web/src/index.tsx
import React from "react";
import { lazy } from 'react/lazy';
import { a } from "./a.js";
import b from "./b";
import type { C } from "./types";
import "./style.css";
import data from "./data.json";
import raw from "./b/index.ts?raw";
import { cart } from "@shop/cart";
import { line } from "@shop/cart/line";
import { deep } from "@shop/cart/features/deep";
import { util } from "@shop/util";
import { top } from "~lib/top";
import { second } from "~lib/second";
import db from "#db";
import { join } from "node:path";
import fs from "fs/promises";
import _ from "lodash";
import { devtools } from "@tanstack/query-devtools";
import { user } from "@/models/user";
import gone from "./gone";
import unknown from "left-pad";
export * from "..";
const page = () => import("./pages/home");
=== packages/web/src/a.ts
export const a = require("../../../lib/top");
=== packages/web/src/b/index.ts
import "./";
=== packages/web/src/types.d.ts
=== packages/web/src/style.css
=== packages/web/src/data.json
{}
=== packages/web/src/db.ts
=== packages/web/src/models/user.ts
=== packages/web/src/pages/home.jsx
=== packages/web/index.js
module.exports = require("./src");
=== packages/cart/package.json
{ "name": "@shop/cart", "main": "./dist/index.js", "exports": { ".": { "types": "./dist/index.d.ts", "default": "./dist/index.js" }, "./line": "./dist/esm/line.js", "./features/*": "./src/features/*.ts" } }
=== packages/cart/tsconfig.json
{ "compilerOptions": { "paths": { "$/*": ["./src/*"] } } }
=== packages/cart/src/index.ts
import "$/features/deep";
import { line } from "./line.js";
import self from "@shop/cart";
=== packages/cart/src/line.ts
=== packages/cart/src/features/deep.ts
=== packages/util/package.json
{ "name": "@shop/util" }
=== packages/util/source/main.ts
import x = require("@shop/web");
=== lib/top.mjs
=== fallback/second.ts
"##;

#[test]
fn scripts() {
    expect![[r"
        packages/cart/src/index.ts
          1: packages/cart/src/features/deep.ts
          2: packages/cart/src/line.ts
        packages/util/source/main.ts
          1: packages/web/src/index.tsx
        packages/web/index.js
          1: packages/web/src/index.tsx
        packages/web/src/a.ts
          1: lib/top.mjs
        packages/web/src/index.tsx
          1: [react]
          2: [react]
          3: packages/web/src/a.ts
          4: packages/web/src/b/index.ts
          5: packages/web/src/types.d.ts (types)
          6: packages/web/src/style.css
          7: packages/web/src/data.json
          8: packages/web/src/b/index.ts
          9: packages/cart/src/index.ts
          10: packages/cart/src/line.ts
          11: packages/cart/src/features/deep.ts
          12: packages/util/source/main.ts
          13: lib/top.mjs
          14: fallback/second.ts
          15: packages/web/src/db.ts
          16: [node:path]
          17: [fs/promises]
          18: [lodash]
          19: [@tanstack/query-devtools]
          20: packages/web/src/models/user.ts
          21: ? ./gone
          22: ? left-pad
          23: packages/web/index.js
          24: packages/web/src/pages/home.jsx
    "]]
    .assert_eq(&Project::of(SCRIPT).told());
}

const RUST: &str = r#"
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
fn rust() {
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

const GO: &str = r#"
=== go.mod
module example.org/shop // ours

go 1.22

require (
	github.com/gin-gonic/gin v1.9.1
	golang.org/x/text v0.3.0 // indirect
)

replace example.org/paint => ./forks/paint
=== main.go
package main

import (
	"fmt"
	"net/http"

	"example.org/shop/cart"
	prices "example.org/shop/internal/prices"
	_ "example.org/shop/tools/lint"
	"example.org/paint/brush"
	"github.com/gin-gonic/gin/binding"
	"example.org/shop/missing"
	"example.com/unknown"
)
=== cart/cart.go
package cart

import "example.org/shop/internal/prices"
=== cart/line.go
package cart
=== cart/cart_test.go
package cart_test

import "example.org/shop/cart"
=== internal/prices/prices.go
package prices
=== tools/go.mod
module example.org/shop/tools
=== tools/lint/lint.go
package lint

import "example.org/shop/cart"
=== forks/paint/brush/brush.go
package brush
"#;

#[test]
fn go() {
    let project = Project::of(GO);
    expect![[r"
        cart/cart.go
          3: internal/prices/prices.go
        cart/cart_test.go
          3: cart/cart.go
          3: cart/line.go
        main.go
          4: [fmt]
          5: [net/http]
          7: cart/cart.go
          7: cart/line.go
          8: internal/prices/prices.go
          9: tools/lint/lint.go
          10: forks/paint/brush/brush.go
          11: [github.com/gin-gonic/gin]
          12: ? example.org/shop/missing
          13: ? example.com/unknown
        tools/lint/lint.go
          3: cart/cart.go
          3: cart/line.go
    "]]
    .assert_eq(&project.told());
    let graph = project.graph();
    assert_eq!(
        graph.importers_of("cart/line.go"),
        ["cart/cart_test.go", "main.go", "tools/lint/lint.go"]
    );
    assert!(graph.importers_of("cart/cart_test.go").is_empty());
}

const JAVA: &str = r"
=== pom.xml
<project><groupId>org.shop</groupId>
<dependencies><dependency><groupId>org.shop</groupId></dependency><dependency><groupId>com.fasterxml.jackson.core</groupId></dependency></dependencies></project>
=== app/src/main/java/org/shop/cart/Cart.java
package org.shop.cart;

import java.util.List;
import org.shop.prices.*;
import static org.shop.prices.Rates.daily;
import static org.shop.util.Consts.*;
import org.shop.model.User.Address;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.shop.model.Gone;
import lombok.Data;

@Data
public class Cart extends Base {
    private List<Line> lines;
    private Price price = Helper.price();
    String name;
}
=== app/src/main/java/org/shop/cart/Base.java
package org.shop.cart;
class Base {}
=== app/src/main/java/org/shop/cart/Line.java
package org.shop.cart;
record Line(Cart cart) {}
=== app/src/main/java/org/shop/prices/Price.java
package org.shop.prices;
class Price {}
=== app/src/main/java/org/shop/prices/Rates.java
package org.shop.prices;
class Rates { static int daily() { return 1; } }
=== app/src/main/java/org/shop/util/Consts.java
package org.shop.util;
class Consts {}
=== app/src/test/java/org/shop/cart/CartTest.java
package org.shop.cart;
import org.junit.jupiter.api.Test;
class CartTest { @Test void total() { new Cart().total(); Base b; } }
=== app/src/test/java/org/shop/cart/Base.java
package org.shop.cart;
class Base {}
=== model/src/main/java/org/shop/model/User.java
package org.shop.model;
class User { static class Address {} }
";

#[test]
fn java() {
    expect![[r"
        app/src/main/java/org/shop/cart/Cart.java
          3: [java.util]
          4: app/src/main/java/org/shop/prices/Price.java
          5: app/src/main/java/org/shop/prices/Rates.java
          6: app/src/main/java/org/shop/util/Consts.java
          7: model/src/main/java/org/shop/model/User.java
          8: [com.fasterxml]
          9: ? org.shop.model
          10: ? lombok
          13: app/src/main/java/org/shop/cart/Base.java (mention)
          14: app/src/main/java/org/shop/cart/Line.java (mention)
        app/src/main/java/org/shop/cart/Line.java
          2: app/src/main/java/org/shop/cart/Cart.java (mention)
        app/src/test/java/org/shop/cart/CartTest.java
          2: [org.junit]
          3: app/src/main/java/org/shop/cart/Cart.java (mention)
          3: app/src/test/java/org/shop/cart/Base.java (mention)
    "]]
    .assert_eq(&Project::of(JAVA).told());
}

#[test]
fn what_will_be_written_is_found() {
    let project = Project::of(
        r#"
=== Cargo.toml
[package]
name = "shop"
=== src/lib.rs
mod cart;
mod pay;
use crate::pay::Card;
=== src/cart.rs
=== go.mod
module example.org/shop
=== main.go
import "example.org/shop/cart"
=== app.py
from shop.cart import Cart
from shop import later
from whole.inner.deep import x
import nowhere
=== web/index.ts
import { a } from "./later";
import { b } from "./whole/of/it";
import { c } from "elsewhere";
=== src/main/java/org/shop/A.java
package org.shop;
import org.shop.next.B;
import org.shop.other.C;
class A { Near near; }
"#,
    );
    let project = project
        .with("src/pay/", "")
        .with("cart/cart.go", "")
        .with("shop/cart.py", "")
        .with("shop/later.py", "")
        .with("whole/", "")
        .with("web/later.tsx", "")
        .with("web/whole/", "")
        .with("src/main/java/org/shop/next/B.java", "")
        .with("src/main/java/org/shop/other/", "")
        .with("src/main/java/org/shop/Near.java", "");
    expect![[r"
        app.py
          1: shop/cart.py
          2: shop/later.py
          3: whole/
          4: ? nowhere
        main.go
          1: cart/cart.go
        src/lib.rs
          1: src/cart.rs (part)
          2: src/pay/ (part)
          3: src/pay/
        src/main/java/org/shop/A.java
          2: src/main/java/org/shop/next/B.java
          3: src/main/java/org/shop/other/
          4: src/main/java/org/shop/Near.java (mention)
        web/index.ts
          1: web/later.tsx
          2: web/whole/
          3: ? elsewhere
    "]]
    .assert_eq(&project.told());
}

#[test]
fn the_graph_answers() {
    let project = Project::of(
        "
=== a.py
import b
import b
=== b.py
import c
=== c.py
import a
import d
=== d.py
if TYPE_CHECKING:
    import b
=== e.py
import d
",
    );
    let graph = project.graph();
    assert_eq!(graph.cycles(), [["a.py", "b.py", "c.py"]]);
    let lines: Vec<u32> = graph.why("a.py", "b.py").iter().map(|s| s.line).collect();
    assert_eq!(lines, [1, 2]);
    assert!(graph.why("b.py", "a.py").is_empty());
    assert!(graph.why("b.py", "nothing").is_empty());
    assert_eq!(graph.importers_of("d.py"), ["c.py", "e.py"]);
    assert!(graph.imports_of("nothing").is_empty());
    let reached = |way, depth| {
        let reached = graph.reach(&["d.py"], way, depth).into_iter();
        let reached = reached.map(|Reached { path, distance }| format!("{path}@{distance}"));
        reached.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(reached(Way::Importers, 0), "");
    assert_eq!(reached(Way::Importers, 2), "c.py@1 e.py@1 b.py@2");
    assert_eq!(reached(Way::Importers, 99), "c.py@1 e.py@1 b.py@2 a.py@3");
    assert_eq!(reached(Way::Imports, 99), "b.py@1 c.py@2 a.py@3");
    assert_eq!(graph.edges().count(), 6);
}

#[test]
fn packages_of_go_import_each_other_as_a_whole() {
    let graph = Project::of(
        "
=== go.mod
module m
=== a/one.go
import \"m/b\"
=== a/two.go
=== b/b.go
import \"m/c\"
=== c/c.go
import \"m/a\"
",
    )
    .graph();
    assert_eq!(graph.cycles(), [["a/one.go", "b/b.go", "c/c.go"]]);
    let reached = graph.reach(&["b/b.go"], Way::Imports, 9);
    let reached: Vec<&str> = reached.iter().map(|r| r.path).collect();
    assert_eq!(reached, ["c/c.go", "a/one.go", "a/two.go"]);
    let reached = graph.reach(&["a/two.go"], Way::Importers, 9);
    let reached: Vec<&str> = reached.iter().map(|r| r.path).collect();
    assert_eq!(reached, ["c/c.go", "b/b.go", "a/one.go"]);
}

fn import(module: &str) -> Import {
    Import {
        module: module.to_owned(),
        statement: format!("import {module}"),
        line: 1,
        ..Import::default()
    }
}

#[test]
fn hostile_manifests_and_imports_end() {
    let paths: String = (0..50_000).fold(String::new(), |mut paths, n| {
        write!(paths, "\"p{n}/*\": [\"x{n}/*\"], \"*s{n}\": [\"y\"],").unwrap();
        paths
    });
    let project = Project::of("")
        .with("tsconfig.json", "{ \"extends\": [\"./a.json\", \"./tsconfig.json\"], \"references\": [{ \"path\": \".\" }] }")
        .with("a.json", "{ \"extends\": \"./tsconfig.json\" }")
        .with("b/tsconfig.json", &format!("{{ \"compilerOptions\": {{ \"paths\": {{ {paths} }} }} }}"))
        .with("c/tsconfig.json", &"[".repeat(100_000))
        .with("package.json", "{ \"name\": \"x\", \"main\": \".\", \"exports\": { \".\": \".\", \"./a\": \"./a\" } }")
        .with("Cargo.toml", &"[a.".repeat(10_000))
        .with("src/lib.rs", "#[path = \"lib.rs\"]\nmod a;\n#[path = \"b.rs\"]\nmod b;\n")
        .with("src/b.rs", "#[path = \"lib.rs\"]\nmod c;\nuse crate::b::c::b::c::D;")
        .with("go.mod", "module\nrequire (\nmodule (\n")
        .with("pom.xml", &"<dependency>".repeat(1_000))
        .with("pyproject.toml", "[project]\ndependencies = [\"\", \"[\", 1]\n")
        .with("b/x.ts", "import 'p7/a'; import 'x'; import 'x/a'; import '.'; import '../../..'; import '';")
        .with("x.js", "require('./'); require('x')");
    let graph = project.graph();
    assert!(graph.imports_of("x.js").is_empty());

    let dots = "../".repeat(300);
    let wild = [
        import(&".".repeat(900)),
        import(&dots),
        import(&format!("{dots}x")),
        import("*"),
        import("::::"),
        import("self::self::super::super"),
        import(&"a::".repeat(300)),
        import(&"a.".repeat(400)),
        import(&"/".repeat(900)),
        import("@"),
        import("@/"),
        import("#"),
        import("é"),
    ];
    let paths = ["a.py", "a.ts", "a.rs", "a.go", "a.java", "a/", "/", ""];
    let sources = paths.map(|path| Source {
        path,
        imports: &wild,
    });
    let graph = Graph::of(&sources, &|_| None);
    assert_eq!(graph.files().len(), paths.len());
}

/// How long a graph of so many files takes, all of which are alike and import many of the others.
fn large(files: usize) {
    let name = |n: usize| format!("pkg/mod_{n}.py");
    let paths: Vec<String> = (0..files).map(name).collect();
    let go: Vec<String> = (0..files).map(|n| format!("g/f{n}.go")).collect();
    let imports: Vec<Vec<Import>> = (0..files)
        .map(|n| {
            let others = (1..20).map(|by| (n * 31 + by * 17) % files);
            others.map(|n| import(&format!("pkg.mod_{n}"))).collect()
        })
        .collect();
    let one = [import("m/g")];
    let python = paths.iter().zip(&imports);
    let python = python.map(|(path, imports)| Source { path, imports });
    let go = go.iter().map(|path| Source {
        path,
        imports: &one,
    });
    let sources: Vec<Source<'_>> = python.chain(go).collect();
    let graph = Graph::of(&sources, &|_| None);
    assert_eq!(graph.imports_of(&name(0)).len(), 19);
    let reached = graph.reach(&[&name(0)], Way::Imports, u32::MAX);
    assert_eq!(reached.len(), files - 1);
    assert!(!graph.cycles().is_empty());
}

#[test]
fn very_many_files_are_no_trouble() {
    large(50_000);
}

/// A path of a file that some languages might look at, and nothing here imports.
fn stranger() -> impl Strategy<Value = String> {
    let folder = prop::sample::select(vec!["", "zz/", "src/zz/", "packages/zz/", "crates/zz/src/"]);
    let end = prop::sample::select(vec!["py", "ts", "rs", "go", "java", "md", "json"]);
    (folder, "[q-z]{6,9}", end).prop_map(|(folder, name, end)| format!("{folder}{name}.{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_file_that_nobody_imports_changes_nothing(path in stranger()) {
        for text in [PYTHON, SCRIPT, RUST, GO, JAVA] {
            let before = Project::of(text);
            let after = Project::of(text).with(&path, "");
            prop_assert_eq!(before.told(), after.told());
        }
    }

    #[test]
    fn no_names_make_it_fail(
        paths in prop::collection::vec("[a-c./]{1,8}(\\.py|\\.ts|\\.rs|\\.go|\\.java|/)", 0..12),
        modules in prop::collection::vec("[a-c./:@#*\\\\]{1,12}", 0..12),
    ) {
        let imports: Vec<Import> = modules.iter().map(|module| {
            let mut import = import(module);
            import.names = vec![module.clone(), "*".to_owned()];
            import
        }).collect();
        let sources: Vec<Source<'_>> = paths.iter().map(|path| Source { path, imports: &imports }).collect();
        let graph = Graph::of(&sources, &|_| None);
        for file in graph.files() {
            for to in graph.imports_of(file) {
                prop_assert!(graph.importers_of(to).contains(&file));
                prop_assert!(!graph.why(file, to).is_empty());
            }
        }
    }
}
