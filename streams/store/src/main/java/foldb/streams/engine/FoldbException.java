package foldb.streams.engine;

import java.util.Objects;
import org.apache.kafka.streams.errors.ProcessorStateException;

/**
 * An error of the engine. The kind says what the caller can do about it. The message names the
 * file, key or option. Streams handles it like an error of its own stores.
 */
public final class FoldbException extends ProcessorStateException {
    private static final long serialVersionUID = 1L;

    /** The kind of error. */
    private final String kind;

    /**
     * Makes an error.
     *
     * @param kind the name of the engine's error kind, for example {@code Locked}
     * @param message one line about what happened
     */
    public FoldbException(final String kind, final String message) {
        super(message);
        this.kind = Objects.requireNonNull(kind);
    }

    /**
     * Makes an error that another one caused.
     *
     * @param kind the name of the error kind
     * @param message one line about what happened
     * @param cause the error behind it
     */
    public FoldbException(final String kind, final String message, final Throwable cause) {
        super(message, cause);
        this.kind = Objects.requireNonNull(kind);
    }

    /**
     * Returns the name of the engine's error kind.
     *
     * @return for example {@code Locked}, {@code Corruption} or {@code Closed}
     */
    public String kind() {
        return kind;
    }

    /**
     * Returns whether the database or cursor was closed before the call.
     *
     * @return true for a closed database or cursor
     */
    public boolean isClosed() {
        return kind.equals("Closed");
    }
}
