package foldb.streams;

import foldb.streams.engine.Cursor;
import foldb.streams.engine.FoldbException;
import java.util.NoSuchElementException;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;

/** The entries of a range. It sees the store as of its making, whatever is written later. */
final class EntryIterator implements KeyValueIterator<Bytes, byte[]> {
    private final FoldbStore store;
    /** Null for an empty range. */
    private final Cursor cursor;

    EntryIterator(final FoldbStore store, final Cursor cursor) {
        this.store = store;
        this.cursor = cursor;
    }

    @Override
    public boolean hasNext() {
        return nextKey() != null;
    }

    @Override
    public Bytes peekNextKey() {
        final byte[] key = nextKey();
        if (key == null) {
            throw new NoSuchElementException();
        }
        return Bytes.wrap(key);
    }

    @Override
    public KeyValue<Bytes, byte[]> next() {
        if (cursor == null) {
            throw new NoSuchElementException();
        }
        try {
            final byte[] key = cursor.peekKey();
            if (key == null) {
                throw new NoSuchElementException();
            }
            final KeyValue<Bytes, byte[]> entry =
                KeyValue.pair(Bytes.wrap(key), cursor.peekValue());
            // Moved last: the copies above may fail for want of memory, and the call come again.
            cursor.next();
            return entry;
        } catch (final FoldbException error) {
            throw failed(error);
        }
    }

    private byte[] nextKey() {
        try {
            return cursor == null ? null : cursor.peekKey();
        } catch (final FoldbException error) {
            throw failed(error);
        }
    }

    private RuntimeException failed(final FoldbException error) {
        return error.isClosed()
            ? new InvalidStateStoreException("Iterator for store " + store.name() + " has closed")
            : store.failed("Error while iterating", error);
    }

    @Override
    public void close() {
        if (cursor != null) {
            cursor.close();
        }
    }
}
