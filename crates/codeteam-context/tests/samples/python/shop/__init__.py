"""A small shop."""

from .models import Customer, Order
from .pricing import total_price as price

__all__ = ["Customer", "Order", "price"]
__version__ = "1.2.0"
