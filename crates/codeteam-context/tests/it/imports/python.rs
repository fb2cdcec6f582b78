//! Imports of Python.

use expect_test::expect;

use super::Project;

pub(super) const PYTHON: &str = r#"
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
fn edges() {
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
