"""What things cost."""

from functools import lru_cache, reduce

from .models import RATES, Order, Priced, Status


class Discount:
    percent = 10

    def __init__(self, percent: int = 10) -> None:
        self.percent = percent

    def __call__(self, price: float) -> float:
        return price * (100 - self.percent) / 100


@lru_cache(maxsize=None)
def rate(currency: str) -> float:
    return RATES[currency]


def total_price(order: Order[Priced], discount: Discount | None = None) -> float:
    """The price of an order.

    Paid orders cost nothing.
    """
    if order.status is Status.PAID:
        return 0.0
    total = reduce(lambda sum, line: sum + line.unit_price(), order.lines, 0.0)
    return discount(total) if discount else total


def _round(value: float) -> float:
    return round(value, 2)


if __name__ == "__main__":
    print(total_price(Order(None, [])))
