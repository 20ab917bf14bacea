package foldb.streams;

import foldb.streams.engine.FoldbException;
import java.util.Iterator;
import java.util.List;

/** Entries that a list of stored keys names, with the values that they have at this moment. */
final class ListedEntries implements TimedEntries {
    private final IntervalStore store;
    private final Iterator<byte[]> keys;
    private TimedKey current;

    /**
     * Creates a walk.
     *
     * @param keys the stored keys, in the order by key
     */
    ListedEntries(final IntervalStore store, final List<byte[]> keys) {
        this.store = store;
        this.keys = keys.iterator();
    }

    @Override
    public TimedKey next() {
        store.checkOpen();
        do {
            if (!keys.hasNext()) {
                return null;
            }
            current = store.decode(KeyOrder.BY_KEY, keys.next());
        } while (current == null);
        return current;
    }

    @Override
    public byte[] value() {
        try {
            return store.look(current);
        } catch (final FoldbException error) {
            throw store.failed("Error while iterating", error);
        }
    }

    @Override
    public void close() {}
}
