//! Imports of Go.

use expect_test::expect;

use super::Project;

pub(super) const GO: &str = r#"
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
fn edges() {
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
