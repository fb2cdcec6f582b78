from shop import Customer, Order, price
from shop.pricing import Discount


def make_order(*lines):
    return Order(Customer("Ada Lovelace"), list(lines))


class TestPrice:
    def test_discount(self):
        assert price(make_order(), Discount(20)) == 0


def test_empty():
    assert price(make_order()) == 0
