package foldb.streams;

import foldb.streams.engine.Database;
import foldb.streams.engine.FoldbException;
import foldb.streams.engine.KeyRange;
import foldb.streams.engine.WriteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A persistent key-value store.
 *
 * <p>All threads may read. One thread at a time writes, as in Streams.
 */
class FoldbKeyValueStore extends FoldbStore implements KeyValueStore<Bytes, byte[]> {
    private static final Logger LOG = LoggerFactory.getLogger(FoldbKeyValueStore.class);

    /** The bytes after which a restore writes what it has gathered. */
    private static final int RESTORE_BYTES = 4 << 20;

    private static final KeyRange EVERYTHING = new KeyRange(null, null);

    private final String operator;

    private FoldbKeyValueStore(final String name, final String operator) {
        super(name);
        this.operator = operator;
    }

    /**
     * Returns a store of plain values.
     *
     * @param name the name of the store
     */
    static FoldbKeyValueStore plain(final String name) {
        return new FoldbKeyValueStore(name, null);
    }

    /**
     * Returns a store of values with timestamps.
     *
     * @param name the name of the store
     * @param operator the store operator of merges, or null
     */
    static FoldbKeyValueStore timestamped(final String name, final String operator) {
        return new Timestamped(name, operator);
    }

    /** A store whose values begin with a timestamp. */
    private static final class Timestamped extends FoldbKeyValueStore
        implements TimestampedBytesStore {
        Timestamped(final String name, final String operator) {
            super(name, operator);
        }
    }

    @Override
    final String mergeOperator() {
        return operator;
    }

    @Override
    final void restore(final Collection<ConsumerRecord<byte[], byte[]>> records) {
        final Database database = database();
        final WriteBuffer batch = new WriteBuffer();
        try {
            for (final ConsumerRecord<byte[], byte[]> record : records) {
                updatePosition(record);
                batch.put(record.key(), record.value());
                if (batch.byteSize() >= RESTORE_BYTES) {
                    database.write(batch);
                    batch.clear();
                }
            }
            database.write(batch);
        } catch (final FoldbException error) {
            throw failed("Error restoring batch to", error);
        }
    }

    @Override
    public void put(final Bytes key, final byte[] value) {
        Objects.requireNonNull(key, "key cannot be null");
        final Database database = database();
        try {
            synchronized (getPosition()) {
                database.put(key.get(), value);
                updatePosition();
            }
        } catch (final FoldbException error) {
            throw failed(value == null ? "Error while removing key from"
                : "Error while putting key/value into", error);
        }
    }

    @Override
    public byte[] putIfAbsent(final Bytes key, final byte[] value) {
        Objects.requireNonNull(key, "key cannot be null");
        final Database database = database();
        try {
            synchronized (getPosition()) {
                final byte[] before = database.putIfAbsent(key.get(), value);
                if (before == null && value != null) {
                    updatePosition();
                }
                return before;
            }
        } catch (final FoldbException error) {
            throw failed("Error while putting key/value into", error);
        }
    }

    @Override
    public void putAll(final List<KeyValue<Bytes, byte[]>> entries) {
        final WriteBuffer batch = new WriteBuffer();
        for (final KeyValue<Bytes, byte[]> entry : entries) {
            Objects.requireNonNull(entry.key, "key cannot be null");
            batch.put(entry.key.get(), entry.value);
        }
        final Database database = database();
        try {
            synchronized (getPosition()) {
                database.write(batch);
                updatePosition();
            }
        } catch (final FoldbException error) {
            throw failed("Error while batch writing to", error);
        }
    }

    @Override
    public byte[] delete(final Bytes key) {
        Objects.requireNonNull(key, "key cannot be null");
        final Database database = database();
        try {
            synchronized (getPosition()) {
                final byte[] before = database.delete(key.get());
                updatePosition();
                return before;
            }
        } catch (final FoldbException error) {
            throw failed("Error while removing key from", error);
        }
    }

    @Override
    public byte[] get(final Bytes key) {
        final Database database = database();
        try {
            return database.get(key.get());
        } catch (final FoldbException error) {
            throw failed("Error while getting value for key from", error);
        }
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> range(final Bytes from, final Bytes to) {
        return between(from, to, false);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> reverseRange(final Bytes from, final Bytes to) {
        return between(from, to, true);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> all() {
        return iterator(EVERYTHING, false);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> reverseAll() {
        return iterator(EVERYTHING, true);
    }

    @Override
    public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
        final P prefix, final PS prefixKeySerializer) {
        checkOpen();
        Objects.requireNonNull(prefix, "prefix cannot be null");
        Objects.requireNonNull(prefixKeySerializer, "prefixKeySerializer cannot be null");
        final byte[] bytes = prefixKeySerializer.serialize(null, prefix);
        return iterator(new KeyRange(bytes, afterPrefix(bytes)), false);
    }

    @Override
    public long approximateNumEntries() {
        try {
            return database().approximateEntries();
        } catch (final FoldbException error) {
            throw failed("Error fetching property from", error);
        }
    }

    private KeyValueIterator<Bytes, byte[]> between(final Bytes from, final Bytes to,
                                                    final boolean reverse) {
        if (from != null && to != null && from.compareTo(to) > 0) {
            LOG.warn("Returning empty iterator for fetch with invalid key range: from > to. "
                + "This may be due to range arguments set in the wrong order, "
                + "or serdes that don't preserve ordering when lexicographically comparing the "
                + "serialized bytes. "
                + "Note that the built-in numerical serdes do not follow this for negative "
                + "numbers");
            return new EntryIterator(this, null);
        }
        final byte[] first = from == null ? null : from.get();
        // The first key after `to` is `to` with a zero byte at its end.
        final byte[] after = to == null ? null : Arrays.copyOf(to.get(), to.get().length + 1);
        return iterator(new KeyRange(first, after), reverse);
    }

    private KeyValueIterator<Bytes, byte[]> iterator(final KeyRange range, final boolean reverse) {
        final Database database = database();
        try {
            return new EntryIterator(this, database.cursor(reverse, range));
        } catch (final FoldbException error) {
            throw failed("Error while iterating", error);
        }
    }

    /** Returns the first key after all that begin with a prefix; null if there is none. */
    private static byte[] afterPrefix(final byte[] prefix) {
        for (int last = prefix.length - 1; last >= 0; last--) {
            if (prefix[last] != (byte) 0xFF) {
                final byte[] after = Arrays.copyOf(prefix, last + 1);
                after[last] += 1;
                return after;
            }
        }
        return null;
    }
}
