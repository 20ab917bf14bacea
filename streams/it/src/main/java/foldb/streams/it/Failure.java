package foldb.streams.it;

/** A check that does not hold, or a step that took too long. */
final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Failure(String message) {
        super(message);
    }

    Failure(String message, Throwable cause) {
        super(message, cause);
    }

    /** Fails with a message unless a condition holds. */
    static void unless(boolean holds, String message) {
        if (!holds) {
            throw new Failure(message);
        }
    }
}
