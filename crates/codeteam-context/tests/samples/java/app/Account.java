/*
 * Copyright of nobody.
 */
package app;

import java.util.List;
import java.util.Optional;

import static java.util.Objects.requireNonNull;

/**
 * An account of somebody.
 *
 * @param <T> what it is in
 */
@Deprecated
@SuppressWarnings("unused")
public abstract class Account<T extends Money> implements Comparable<Account<?>>, Auditable {

    /** How many there may be. */
    public static final int LIMIT = 10;
    private static final List<String> NAMES = List.of(
        "first",
        "second"
    );

    private final String owner;
    protected T balance;

    static {
        System.out.println("loaded");
    }

    /** Opens one. */
    public Account(String owner, T balance) {
        this.owner = requireNonNull(owner);
        this.balance = balance;
    }

    @Override
    public int compareTo(Account<?> other) {
        return owner.compareTo(other.owner);
    }

    /**
     * Takes money out.
     */
    public abstract Optional<T> withdraw(T amount) throws Overdrawn, InterruptedException;

    private <R> R audited(java.util.function.Supplier<R> action) {
        record("audited");
        return action.get();
    }

    public static class Builder {
        private String owner;

        Builder owner(final String owner) {
            this.owner = owner;
            return this;
        }
    }

    private enum State {
        OPEN, CLOSED {
            @Override
            boolean done() {
                return true;
            }
        };

        boolean done() {
            return false;
        }
    }
}
