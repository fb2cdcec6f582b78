//! Imports found in files written by hand, whole or broken.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{Import, ImportForm};
use crate::language::Language;
use crate::outline::outline;

/// The imports of a text, one a line.
fn found(language: Language, text: &str) -> String {
    let mut out = String::new();
    for import in outline(text, language).imports {
        let Import {
            module,
            names,
            line,
            statement,
            form,
        } = import;
        let names = if names.is_empty() {
            String::new()
        } else {
            format!(" [{}]", names.join(" "))
        };
        let form = match form {
            ImportForm::Import => String::new(),
            other => format!("{other:?} "),
        };
        writeln!(out, "{line}: {form}{module}{names} | {statement}").unwrap();
    }
    out
}

fn check(language: Language, text: &str, expected: &Expect) {
    expected.assert_eq(&found(language, text));
}

#[test]
fn python() {
    let text = r#"
"""Orders."""
from __future__ import annotations

import os, sys as system
import shop.prices.rates as rates
from ..models.user import User as Account, Address
from . import forms
from .... import far
from shop.cart import (
    Cart,  # what is bought
    Line,
)
from shop.consts import *
import typing as t

if t.TYPE_CHECKING:
    from shop.types import Money
else:
    from shop.other import Money

def late():
    import shop.late
    try:
        import fast_json as json
    except ImportError:
        import json
    return __import__("shop.plugins"), importlib.import_module("shop.tools")

near = importlib.import_module("..deep", "shop.a.b")
no = importlib.import_module(f"shop.{near}"), importlib.import_module(name)
"#;
    check(
        Language::Python,
        text,
        &expect![[r#"
        5: os | import os, sys as system
        5: sys | import os, sys as system
        6: shop.prices.rates | import shop.prices.rates as rates
        7: ..models.user [User Address] | from ..models.user import User as Account, Address
        8: . [forms] | from . import forms
        9: .... [far] | from .... import far
        10: shop.cart [Cart Line] | from shop.cart import ( Cart, # what is bought Line, )
        14: shop.consts [*] | from shop.consts import *
        15: typing | import typing as t
        18: Types shop.types [Money] | from shop.types import Money
        20: shop.other [Money] | from shop.other import Money
        23: shop.late | import shop.late
        25: fast_json | import fast_json as json
        27: json | import json
        28: shop.plugins | return __import__("shop.plugins"), importlib.import_module("shop.tools")
        28: shop.tools | return __import__("shop.plugins"), importlib.import_module("shop.tools")
        30: shop.a.deep | near = importlib.import_module("..deep", "shop.a.b")
    "#]],
    );
}

#[test]
fn scripts() {
    let text = r#"
import React, { useState as state, type FC } from "react";
import * as path from 'node:path';
import "./styles.css";
import type { User } from "../models/user";
import fs = require("fs");
export { login, logout as bye } from "@/api/auth";
export * from "./all";
export type { Shape } from "./shape";
export const own = 1;
const a = require("./a"), b = require(`./b`), c = require(`./${a}`);
async function later() {
    const { page } = await import("./pages/page.js");
    return jest.requireActual("../real");
}
"#;
    check(
        Language::TypeScript,
        text,
        &expect![[r#"
        2: react [default useState FC] | import React, { useState as state, type FC } from "react";
        3: node:path | import * as path from 'node:path';
        4: ./styles.css | import "./styles.css";
        5: Types ../models/user [User] | import type { User } from "../models/user";
        6: fs | import fs = require("fs");
        7: @/api/auth [login logout] | export { login, logout as bye } from "@/api/auth";
        8: ./all | export * from "./all";
        9: Types ./shape [Shape] | export type { Shape } from "./shape";
        11: ./a | const a = require("./a"), b = require(`./b`), c = require(`./${a}`);
        11: ./b | const a = require("./a"), b = require(`./b`), c = require(`./${a}`);
        13: ./pages/page.js | const { page } = await import("./pages/page.js");
        14: ../real | return jest.requireActual("../real");
    "#]],
    );
    let jsx = "import App from './App';\nexport default () => <App a={require('./b')} />;\n";
    check(
        Language::JavaScript,
        jsx,
        &expect![[r"
        1: ./App [default] | import App from './App';
        2: ./b | export default () => <App a={require('./b')} />;
    "]],
    );
    check(
        Language::Tsx,
        jsx,
        &expect![[r"
        1: ./App [default] | import App from './App';
        2: ./b | export default () => <App a={require('./b')} />;
    "]],
    );
}

#[test]
fn rust() {
    let text = r#"
//! A shop.
extern crate alloc;
pub mod cart;
#[cfg(unix)]
#[path = "os/unix.rs"]
mod os;
mod inner {
    mod deeper;
    use super::cart::Cart;
    use self::deeper::Deep;
    use super::super::above::Above;
}
use crate::prices::{self, Rate, rates::{Daily as D, *}};
use super::sibling;
use serde::Serialize;
use std::{fs, io::{self, Read as _}};
use ::anyhow::Result;
use Kind::*;
use fs::File;
pub use cart::Line;
use {log::info, self::inner::Thing};

enum Kind { One }

fn work() -> crate::failure::Failure {
    fs::read("x");
    crate::store::open::<u8>(u32::MAX);
    crate::store::open(2);
    super::above::look();
    other_crate::run(Kind::One);
    cart::total();
    println!("{}", crate::in_a_macro());
}

#[cfg(test)]
mod tests {
    use super::*;
    use super::prices::Rate;
}
"#;
    check(
        Language::Rust,
        text,
        &expect![[r"
        3: ::alloc | extern crate alloc;
        4: Part self::cart | pub mod cart;
        7: Part ./os/unix.rs [os] | mod os;
        9: Part self::inner::deeper | mod deeper;
        10: self::cart [Cart] | use super::cart::Cart;
        11: self::inner::deeper [Deep] | use self::deeper::Deep;
        12: super::above [Above] | use super::super::above::Above;
        14: crate::prices [self Rate] | use crate::prices::{self, Rate, rates::{Daily as D, *}};
        14: crate::prices::rates [Daily *] | use crate::prices::{self, Rate, rates::{Daily as D, *}};
        15: super [sibling] | use super::sibling;
        16: serde [Serialize] | use serde::Serialize;
        17: std [fs] | use std::{fs, io::{self, Read as _}};
        17: std::io [self Read] | use std::{fs, io::{self, Read as _}};
        18: ::anyhow [Result] | use ::anyhow::Result;
        19: Mention Kind [*] | use Kind::*;
        20: Mention fs [File] | use fs::File;
        21: cart [Line] | pub use cart::Line;
        22: log [info] | use {log::info, self::inner::Thing};
        22: self::inner [Thing] | use {log::info, self::inner::Thing};
        26: Mention crate::failure [Failure] | crate::failure::Failure
        28: Mention crate::store [open] | crate::store::open
        30: Mention super::above [look] | super::above::look
        31: Mention other_crate [run] | other_crate::run
        32: Mention cart [total] | cart::total
        38: self [*] | use super::*;
        39: self::prices [Rate] | use super::prices::Rate;
    "]],
    );
}

#[test]
fn go() {
    let text = r#"
package main

import "fmt"
import (
	"net/http"
	. "strings"
	_ "example.org/shop/drivers"
	cart "example.org/shop/cart/v2" // the cart
	`example.org/shop/raw`
)

func main() { fmt.Println("import \"not/this\"") }
"#;
    check(
        Language::Go,
        text,
        &expect![[r#"
        4: fmt | import "fmt"
        6: net/http | import "net/http"
        7: strings | import . "strings"
        8: example.org/shop/drivers | import _ "example.org/shop/drivers"
        9: example.org/shop/cart/v2 | import cart "example.org/shop/cart/v2"
        10: example.org/shop/raw | import `example.org/shop/raw`
    "#]],
    );
}

#[test]
fn java() {
    let text = r"
package org.shop.cart;

import java.util.*;
import org.shop.prices.Rate;
import static org.shop.prices.Rates.daily;
import static org.shop.Consts.*;
import org.shop.Outer.Inner;

@Audited
public class Cart<T extends Item> extends Base implements Comparable<Cart> {
    private final List<Line> lines = new ArrayList<>();
    private Rate rate = Rates.current();
    Map.Entry<String, T> entry;
    static final int MAX_LINES = Limits.MAX;
    class Part { Part other; }
    <Q> void each(Function<Q, Part> f) { lines.forEach(Printer::print); MAX_LINES.x(); }
}
";
    check(
        Language::Java,
        text,
        &expect![[r"
        2: Within org.shop.cart | package org.shop.cart;
        4: java.util [*] | import java.util.*;
        5: org.shop.prices [Rate] | import org.shop.prices.Rate;
        6: org.shop.prices.Rates [daily] | import static org.shop.prices.Rates.daily;
        7: org.shop.Consts [*] | import static org.shop.Consts.*;
        8: org.shop.Outer [Inner] | import org.shop.Outer.Inner;
        10: Mention org.shop.cart [Audited] | @Audited
        11: Mention org.shop.cart [Item] | public class Cart<T extends Item> extends Base implements Comparable<Cart> {
        11: Mention org.shop.cart [Base] | public class Cart<T extends Item> extends Base implements Comparable<Cart> {
        12: Mention org.shop.cart [List] | private final List<Line> lines = new ArrayList<>();
        12: Mention org.shop.cart [Line] | private final List<Line> lines = new ArrayList<>();
        12: Mention org.shop.cart [ArrayList] | private final List<Line> lines = new ArrayList<>();
        13: Mention org.shop.cart [Rates] | private Rate rate = Rates.current();
        14: Mention org.shop.cart [Map] | Map.Entry<String, T> entry;
        15: Mention org.shop.cart [Limits] | static final int MAX_LINES = Limits.MAX;
        17: Mention org.shop.cart [Function] | <Q> void each(Function<Q, Part> f) { lines.forEach(Printer::print); MAX_LINES.x(); }
        17: Mention org.shop.cart [Printer] | <Q> void each(Function<Q, Part> f) { lines.forEach(Printer::print); MAX_LINES.x(); }
    "]],
    );
}

#[test]
fn broken_files_give_what_could_be_understood() {
    check(
        Language::Python,
        "import a\ndef broken(:\n    from b import c\nclass\nfrom . import d\n",
        &expect![[r"
            1: a | import a
            3: b [c] | from b import c
            5: . [d] | from . import d
        "]],
    );
    check(
        Language::JavaScript,
        "import a from './a';\nfunction ( {{{\nconst b = require('./b')\n",
        &expect![[r"
            1: ./a [default] | import a from './a';
            3: ./b | const b = require('./b')
        "]],
    );
    check(
        Language::Rust,
        "use crate::a;\nfn broken( {\nuse crate::b::{c, ;\n",
        &expect![[r"
            1: crate [a] | use crate::a;
            3: Mention crate [b] | crate::b
        "]],
    );
    check(
        Language::Java,
        "package a.b;\nimport a.b.;\nimport a.c.D;\nclass {\n",
        &expect![[r"
            1: Within a.b | package a.b;
            2: a.b | import a.b.;
            3: a.c [D] | import a.c.D;
        "]],
    );
    check(
        Language::Go,
        "package p\nimport (\n\t\"a/b\"\n\t\"c\n",
        &expect![[r#"
            3: a/b | import "a/b"
        "#]],
    );
}

#[test]
fn what_is_shown_is_one_line_of_no_great_length() {
    let names: Vec<String> = (0..1000).map(|n| format!("name_{n}")).collect();
    let text = format!("from a import (\n  {},\n)\n", names.join(",\n  "));
    let imports = outline(&text, Language::Python).imports;
    assert_eq!(imports[0].names.len(), 1000);
    assert!(imports[0].statement.chars().count() <= 200);
    assert!(imports[0].statement.ends_with('…'));
    // In a file of one line, too.
    let text = format!("{}require('./é');", "x('é');".repeat(2_000));
    let imports = outline(&text, Language::JavaScript).imports;
    assert_eq!(imports[0].module, "./é");
    assert!(imports[0].statement.chars().count() <= 200);
}

#[test]
fn hostile_files_end_soon() {
    let deep = format!("use {}a{};", "a::{".repeat(20_000), "}".repeat(20_000));
    assert!(outline(&deep, Language::Rust).imports.len() <= 1);
    let many = "import a\n".repeat(20_000);
    assert_eq!(outline(&many, Language::Python).imports.len(), 10_000);
    let dots = format!("from {}x import y\n", ".".repeat(100_000));
    assert!(outline(&dots, Language::Python).imports.is_empty());
    let nested = "if x:\n".to_owned() + &" ".repeat(3) + &"(".repeat(50_000);
    assert!(outline(&nested, Language::Python).imports.is_empty());
    let modules = "mod a { ".repeat(5_000) + "use super::b;";
    assert!(outline(&modules, Language::Rust).imports.len() <= 1);
}
