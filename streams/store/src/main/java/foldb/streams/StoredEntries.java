package foldb.streams;

import foldb.streams.engine.Cursor;
import foldb.streams.engine.FoldbException;

/** The entries of a cursor. It leaves out those of intervals that have expired meanwhile. */
final class StoredEntries implements TimedEntries {
    private final IntervalStore store;
    private final KeyOrder order;
    private final Cursor cursor;
    private TimedKey current;

    /**
     * Creates a walk.
     *
     * @param order the order of the entries below the cursor
     * @param cursor a new cursor; this object closes it
     */
    StoredEntries(final IntervalStore store, final KeyOrder order, final Cursor cursor) {
        this.store = store;
        this.order = order;
        this.cursor = cursor;
    }

    @Override
    public TimedKey next() {
        try {
            do {
                if (!cursor.next()) {
                    return null;
                }
                current = store.decode(order, cursor.key());
            } while (current == null);
            return current;
        } catch (final FoldbException error) {
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
        cursor.close();
    }
}
