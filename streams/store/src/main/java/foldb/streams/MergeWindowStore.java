package foldb.streams;

import java.util.Collection;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.ReadOnlyWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/**
 * A window store for the Processor API that takes blind merges: {@link #merge} changes the value of
 * a window without reading it.
 *
 * <p>{@link FoldbStores#mergeWindowStoreBuilder} makes one. Add it to the topology and take it from
 * the context:
 * <pre>{@code
 * MergeWindowStore<String, Long> counts = context.getStateStore("counts");
 * counts.merge(record.key(), 1L, windows.windowsFor(record.timestamp()).keySet());
 * }</pre>
 *
 * <p>Every read sees all merges. The changelog has one full value per changed window and commit. A
 * merge into a window that the retention period has passed is dropped, and counted in the task's
 * metric {@code dropped-records}. Interactive queries read the store as
 * {@code QueryableStoreTypes.windowStore()}.
 *
 * <p>The stream thread that runs the processor may call any method; other threads may only read.
 *
 * @param <K> the type of keys
 * @param <V> the type of values and of operands
 */
public interface MergeWindowStore<K, V> extends StateStore, ReadOnlyWindowStore<K, V> {
    /**
     * Merges an operand into one window, with the timestamp of the current record.
     *
     * @param key the key
     * @param operand the operand; the store's value serde serializes it
     * @param windowStart the start of the window, in milliseconds
     * @throws NullPointerException if the key or operand is {@code null}
     * @throws org.apache.kafka.streams.errors.StreamsException if the operator cannot fold the
     *     serialized operand
     */
    void merge(K key, V operand, long windowStart);

    /**
     * Merges an operand into several windows, with the timestamp of the current record. The key and
     * the operand are serialized once.
     *
     * @param key the key
     * @param operand the operand; the store's value serde serializes it
     * @param windowStarts the starts of the windows, in milliseconds
     * @throws NullPointerException if an argument is {@code null}
     * @throws org.apache.kafka.streams.errors.StreamsException if the operator cannot fold the
     *     serialized operand
     */
    void merge(K key, V operand, Collection<Long> windowStarts);

    /**
     * Merges an operand into several windows, with a timestamp. A window's value then has the
     * greatest timestamp of its operands.
     *
     * @param key the key
     * @param operand the operand; the store's value serde serializes it
     * @param windowStarts the starts of the windows, in milliseconds
     * @param timestamp the timestamp, in milliseconds
     * @throws NullPointerException if an argument is {@code null}
     * @throws org.apache.kafka.streams.errors.StreamsException if the operator cannot fold the
     *     serialized operand
     */
    void merge(K key, V operand, Collection<Long> windowStarts, long timestamp);

    /**
     * Replaces the value of a window, with the timestamp of the current record.
     *
     * @param key the key
     * @param value the value, or {@code null} to delete the window of the key
     * @param windowStart the start of the window, in milliseconds
     * @throws NullPointerException if the key is {@code null}
     */
    void put(K key, V value, long windowStart);

    /**
     * Returns a window's value and its timestamp.
     *
     * @param key the key
     * @param windowStart the start of the window, in milliseconds
     * @return both, or {@code null} if there is none
     * @throws NullPointerException if the key is {@code null}
     */
    ValueAndTimestamp<V> fetchWithTimestamp(K key, long windowStart);
}
