package app;

/** What is written down. */
public sealed interface Auditable permits Account {
    String TOPIC = "audit";

    /** Writes it down. */
    default void record(String what) {
        System.out.println(TOPIC + ": " + what);
    }

    @interface Marked {
        String value() default "";

        int level() default 1;
    }
}
