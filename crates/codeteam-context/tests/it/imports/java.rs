//! Imports of Java.

use expect_test::expect;

use super::Project;

pub(super) const JAVA: &str = r"
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
fn edges() {
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
