//! Imports of JavaScript and TypeScript.

use expect_test::expect;

use super::Project;

pub(super) const SCRIPT: &str = r##"
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
fn edges() {
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
