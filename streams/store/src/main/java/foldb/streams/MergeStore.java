package foldb.streams;

import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * A key-value store for the Processor API that takes blind merges: {@link #merge} changes a value
 * without reading it.
 *
 * <p>{@link FoldbStores#mergeStoreBuilder} makes one. Add it to the topology and take it from the
 * context:
 * <pre>{@code
 * MergeStore<String, Long> counts = context.getStateStore("counts");
 * counts.merge(record.key(), 1L);
 * }</pre>
 *
 * <p>Every read sees all merges. The changelog has one full value per changed key and commit.
 * Interactive queries read the store as {@code QueryableStoreTypes.keyValueStore()}.
 *
 * <p>The stream thread that runs the processor may call any method; other threads may only read.
 *
 * @param <K> the type of keys
 * @param <V> the type of values and of operands
 */
public interface MergeStore<K, V> extends StateStore, ReadOnlyKeyValueStore<K, V> {
    /**
     * Merges an operand with the timestamp of the current record.
     *
     * @param key the key
     * @param operand the operand; the store's value serde serializes it
     * @throws NullPointerException if the key or operand is {@code null}
     * @throws org.apache.kafka.streams.errors.StreamsException if the operator cannot fold the
     *     serialized operand
     */
    void merge(K key, V operand);

    /**
     * Merges an operand with a timestamp. The key's value then has the greatest timestamp of its
     * operands.
     *
     * @param key the key
     * @param operand the operand; the store's value serde serializes it
     * @param timestamp the timestamp, in milliseconds
     * @throws NullPointerException if the key or operand is {@code null}
     * @throws org.apache.kafka.streams.errors.StreamsException if the operator cannot fold the
     *     serialized operand
     */
    void merge(K key, V operand, long timestamp);

    /**
     * Replaces the key's value, with the timestamp of the current record.
     *
     * @param key the key
     * @param value the value, or {@code null} to delete the key
     * @throws NullPointerException if the key is {@code null}
     */
    void put(K key, V value);

    /**
     * Deletes the key.
     *
     * @param key the key
     * @return the value before, or {@code null} if the key was absent
     * @throws NullPointerException if the key is {@code null}
     */
    V delete(K key);

    /**
     * Returns the key's value and its timestamp.
     *
     * @param key the key
     * @return both, or {@code null} if the key is absent
     * @throws NullPointerException if the key is {@code null}
     */
    ValueAndTimestamp<V> getWithTimestamp(K key);

    @Override
    KeyValueIterator<K, V> reverseRange(K from, K to);

    @Override
    KeyValueIterator<K, V> reverseAll();

    @Override
    <PS extends Serializer<P>, P> KeyValueIterator<K, V> prefixScan(
        P prefix, PS prefixKeySerializer);
}
