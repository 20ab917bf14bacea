package foldb.streams;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * A merge store over Streams' own layers, which give it serdes, metrics and a changelog.
 *
 * <p>It is no {@code KeyValueStore}: the context would wrap such a store again and hide
 * {@link #merge}.
 */
final class FoldbMergeStore<K, V>
    extends SerializingStore<TimestampedKeyValueStore<K, V>, K, K, V>
    implements MergeStore<K, V> {
    private final FoldbMergingStore merging;

    /**
     * Makes a store.
     *
     * @param layers Streams' layers, a {@link FoldbMergingStore} innermost
     * @param keySerde the serde of keys, or {@code null} for the configured default
     * @param valueSerde the serde of values, or {@code null} for the configured default
     */
    FoldbMergeStore(
            TimestampedKeyValueStore<K, V> layers, Serde<K> keySerde, Serde<V> valueSerde) {
        super(layers, keySerde, valueSerde);
        this.merging = Layers.find(layers, FoldbMergingStore.class);
    }

    @Override
    public void merge(K key, V operand) {
        merge(key, operand, timestamp());
    }

    @Override
    public void merge(K key, V operand, long timestamp) {
        merging.merge(rawKey(key), timestamp, rawOperand(operand));
    }

    @Override
    public void put(K key, V value) {
        wrapped().put(key, stamped(value));
    }

    @Override
    public V delete(K key) {
        return ValueAndTimestamp.getValueOrNull(wrapped().delete(key));
    }

    @Override
    public V get(K key) {
        return ValueAndTimestamp.getValueOrNull(wrapped().get(key));
    }

    @Override
    public ValueAndTimestamp<V> getWithTimestamp(K key) {
        return wrapped().get(key);
    }

    @Override
    public KeyValueIterator<K, V> range(K from, K to) {
        return new ValueIterator<>(wrapped().range(from, to));
    }

    @Override
    public KeyValueIterator<K, V> reverseRange(K from, K to) {
        return new ValueIterator<>(wrapped().reverseRange(from, to));
    }

    @Override
    public KeyValueIterator<K, V> all() {
        return new ValueIterator<>(wrapped().all());
    }

    @Override
    public KeyValueIterator<K, V> reverseAll() {
        return new ValueIterator<>(wrapped().reverseAll());
    }

    @Override
    public <PS extends Serializer<P>, P> KeyValueIterator<K, V> prefixScan(
            P prefix, PS prefixKeySerializer) {
        return new ValueIterator<>(wrapped().prefixScan(prefix, prefixKeySerializer));
    }

    @Override
    public long approximateNumEntries() {
        return wrapped().approximateNumEntries();
    }
}
