package foldb.streams;

import foldb.streams.engine.Cursor;
import foldb.streams.engine.FoldbException;
import java.util.function.Supplier;

/**
 * The entries of a cursor, which is opened at the first call of {@link #next}. It leaves out those
 * of intervals that have expired meanwhile. A closed store has no entries, as with the stock
 * stores.
 */
final class StoredEntries implements TimedEntries {
    private final IntervalStore store;
    private final KeyOrder order;
    private Supplier<Cursor> opening;
    /** Null before the first call, and if there are no entries. */
    private Cursor cursor;
    private TimedKey current;

    /**
     * Creates a walk.
     *
     * @param order the order of the entries below the cursor
     * @param opening opens the cursor, which this object closes; null if there are no entries
     */
    StoredEntries(
            final IntervalStore store, final KeyOrder order, final Supplier<Cursor> opening) {
        this.store = store;
        this.order = order;
        this.opening = opening;
    }

    @Override
    public TimedKey next() {
        try {
            if (opening != null) {
                cursor = opening.get();
                opening = null;
            }
            if (cursor == null) {
                return null;
            }
            do {
                final byte[] key = cursor.peekKey();
                if (key == null) {
                    return null;
                }
                current = store.decode(order, key);
                cursor.next();
            } while (current == null);
            return current;
        } catch (final FoldbException error) {
            if (error.isClosed()) {
                return null;
            }
            throw store.failed("Error while iterating", error);
        }
    }

    @Override
    public byte[] value() {
        try {
            return order == KeyOrder.BY_KEY ? cursor.value() : store.look(current);
        } catch (final FoldbException error) {
            throw store.failed("Error while iterating", error);
        }
    }

    @Override
    public void close() {
        if (cursor != null) {
            cursor.close();
        }
    }
}
