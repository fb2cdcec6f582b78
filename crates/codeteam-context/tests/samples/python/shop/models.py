"""What the shop keeps.

More about it is told in the manual.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, overload

T = TypeVar("T")
DEFAULT_CURRENCY: str = "EUR"
_CACHE: dict[str, object] = {}
RATES = {
    "EUR": 1.0,
    "USD": 1.1,
    "JPY": 160.0,
    "GBP": 0.85,
    "CHF": 0.95,
    "NOK": 11.5,
}

type OrderId = int


class Status(enum.Enum):
    """How far an order is."""

    OPEN = "open"
    PAID = "paid"


class Priced(Protocol):
    """Something with a price."""

    def unit_price(self) -> float: ...


@dataclass
class Customer:
    """Who buys.

    A customer has a name and an address.
    """

    name: str
    address: str = ""
    tags: list[str] = field(default_factory=list)

    @property
    def initials(self) -> str:
        """The first letters of the name."""
        parts = self.name.split()
        return "".join(part[0] for part in parts)

    @classmethod
    def from_row(cls, row: dict[str, str]) -> "Customer":
        return cls(name=row["name"], address=row.get("address", ""))

    @staticmethod
    def _normalise(name: str) -> str:
        return name.strip().title()


@dataclass(frozen=True)
class Order(Generic[T]):
    customer: Customer
    lines: list[T]
    status: Status = Status.OPEN

    class Meta:
        ordering = ["id"]

        def describe(self) -> str:
            return "orders, oldest first"

    @overload
    def line(self, at: int) -> T: ...
    @overload
    def line(self, at: slice) -> list[T]: ...
    def line(self, at):
        # Slices and numbers are the same to a list.
        return self.lines[at]

    async def pay(
        self,
        amount: float,  # in the order's own currency
        *,
        currency: str = DEFAULT_CURRENCY,
    ) -> "Order[T]":
        """Pays it."""

        def convert(value: float) -> float:
            return value * RATES[currency]

        await gateway(convert(amount))
        return self


async def gateway(amount: float) -> None:
    """Where the money goes."""
    _CACHE["last"] = amount


try:
    import fast_json as json
except ImportError:
    import json

    def loads_slowly(text: str) -> object:
        return json.loads(text)
