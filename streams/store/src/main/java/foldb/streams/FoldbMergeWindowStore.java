package foldb.streams;

import java.time.Instant;
import java.util.Collection;
import java.util.List;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStoreIterator;

/**
 * A window merge store over Streams' own layers, which give it serdes, metrics and a changelog.
 *
 * <p>It is no {@code WindowStore}: the context would wrap such a store again and hide
 * {@link #merge}.
 */
final class FoldbMergeWindowStore<K, V>
    extends SerializingStore<TimestampedWindowStore<K, V>, Windowed<K>, K, V>
    implements MergeWindowStore<K, V> {
    private final FoldbMergingWindowStore merging;

    /**
     * Makes a store.
     *
     * @param layers Streams' layers, a {@link FoldbMergingWindowStore} innermost
     * @param keySerde the serde of keys, or {@code null} for the configured default
     * @param valueSerde the serde of values, or {@code null} for the configured default
     */
    FoldbMergeWindowStore(
            TimestampedWindowStore<K, V> layers, Serde<K> keySerde, Serde<V> valueSerde) {
        super(layers, keySerde, valueSerde);
        this.merging = Layers.find(layers, FoldbMergingWindowStore.class);
    }

    @Override
    public void merge(K key, V operand, long windowStart) {
        merge(key, operand, List.of(windowStart));
    }

    @Override
    public void merge(K key, V operand, Collection<Long> windowStarts) {
        merge(key, operand, windowStarts, timestamp());
    }

    @Override
    public void merge(K key, V operand, Collection<Long> windowStarts, long timestamp) {
        Bytes rawKey = rawKey(key);
        byte[] rawOperand = rawOperand(operand);
        for (long windowStart : windowStarts) {
            Bytes stored = merging.admit(rawKey, windowStart);
            if (stored != null) {
                merging.merges().merge(stored, timestamp, rawOperand);
            }
        }
    }

    @Override
    public void put(K key, V value, long windowStart) {
        wrapped().put(key, stamped(value), windowStart);
    }

    @Override
    public V fetch(K key, long windowStart) {
        return ValueAndTimestamp.getValueOrNull(wrapped().fetch(key, windowStart));
    }

    @Override
    public ValueAndTimestamp<V> fetchWithTimestamp(K key, long windowStart) {
        return wrapped().fetch(key, windowStart);
    }

    @Override
    public WindowStoreIterator<V> fetch(K key, Instant from, Instant to) {
        return new OneKey<>(wrapped().fetch(key, from, to));
    }

    @Override
    public WindowStoreIterator<V> backwardFetch(K key, Instant from, Instant to) {
        return new OneKey<>(wrapped().backwardFetch(key, from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> fetch(K keyFrom, K keyTo, Instant from, Instant to) {
        return new ValueIterator<>(wrapped().fetch(keyFrom, keyTo, from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> backwardFetch(
            K keyFrom, K keyTo, Instant from, Instant to) {
        return new ValueIterator<>(wrapped().backwardFetch(keyFrom, keyTo, from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> fetchAll(Instant from, Instant to) {
        return new ValueIterator<>(wrapped().fetchAll(from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> backwardFetchAll(Instant from, Instant to) {
        return new ValueIterator<>(wrapped().backwardFetchAll(from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> all() {
        return new ValueIterator<>(wrapped().all());
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> backwardAll() {
        return new ValueIterator<>(wrapped().backwardAll());
    }

    /** The values of one key, each with the start of its window. */
    private static final class OneKey<V> extends ValueIterator<Long, V>
        implements WindowStoreIterator<V> {
        OneKey(KeyValueIterator<Long, ValueAndTimestamp<V>> entries) {
            super(entries);
        }
    }
}
