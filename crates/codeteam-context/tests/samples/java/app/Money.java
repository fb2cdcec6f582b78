package app;

import java.math.BigDecimal;

/** So much of a currency. */
public record Money(BigDecimal amount, String currency) implements Comparable<Money> {

    static final Money NOTHING = new Money(BigDecimal.ZERO, "EUR");

    public Money {
        if (amount.signum() < 0) {
            throw new Overdrawn(amount.toString());
        }
    }

    public Money plus(Money other) {
        return new Money(amount.add(other.amount()), currency);
    }

    @Override
    public int compareTo(Money other) {
        return amount.compareTo(other.amount);
    }
}

class Overdrawn extends RuntimeException {
    Overdrawn(String message) {
        super(message);
    }
}
