package foldb.streams;

import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.WrappingNullableUtils;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.processor.internals.SerdeGetter;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.StateSerdes;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * A window merge store over Streams' own layers, which give it serdes, metrics and a changelog.
 *
 * <p>It is no {@code WindowStore}: the context would wrap such a store again and hide
 * {@link #merge}.
 */
final class FoldbMergeWindowStore<K, V>
    extends WrappedStateStore<TimestampedWindowStore<K, V>, Windowed<K>, V>
    implements MergeWindowStore<K, V> {
    private final Serde<K> keySerde;
    private final Serde<V> valueSerde;
    private final FoldbMergingWindowStore merging;
    private StateSerdes<K, V> serdes;
    private InternalProcessorContext<?, ?> context;

    /**
     * Makes a store.
     *
     * @param layers Streams' layers, a {@link FoldbMergingWindowStore} innermost
     * @param keySerde the serde of keys, or {@code null} for the configured default
     * @param valueSerde the serde of values, or {@code null} for the configured default
     */
    FoldbMergeWindowStore(
            TimestampedWindowStore<K, V> layers, Serde<K> keySerde, Serde<V> valueSerde) {
        super(layers);
        this.keySerde = keySerde;
        this.valueSerde = valueSerde;
        this.merging =
            Layers.find(layers, FoldbMergingWindowStore.class);
    }

    @Override
    public void init(StateStoreContext stateStoreContext, StateStore root) {
        context = ProcessorContextUtils.asInternalProcessorContext(stateStoreContext);
        SerdeGetter defaults = new SerdeGetter(stateStoreContext);
        serdes = new StateSerdes<>(
            ProcessorContextUtils.changelogFor(stateStoreContext, name(), false),
            WrappingNullableUtils.prepareKeySerde(keySerde, defaults),
            WrappingNullableUtils.prepareValueSerde(valueSerde, defaults));
        super.init(stateStoreContext, root);
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
        Objects.requireNonNull(key, "key cannot be null");
        Objects.requireNonNull(operand, "operand cannot be null");
        Bytes rawKey = Bytes.wrap(Layers.rawKey(serdes, key, context.headers()));
        byte[] rawOperand = Layers.rawValue(serdes, operand, context.headers());
        for (long windowStart : windowStarts) {
            Bytes stored = merging.admit(rawKey, windowStart);
            if (stored != null) {
                merging.merges().merge(stored, timestamp, rawOperand);
            }
        }
    }

    /** Returns the timestamp of the current record, or stream time outside of records. */
    private long timestamp() {
        ProcessorRecordContext current = context.recordContext();
        return current == null ? context.currentStreamTimeMs() : current.timestamp();
    }

    @Override
    public void put(K key, V value, long windowStart) {
        wrapped().put(key,
            ValueAndTimestamp.make(value, value == null ? 0 : timestamp()), windowStart);
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
        return new Values<>(wrapped().fetch(keyFrom, keyTo, from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> backwardFetch(
            K keyFrom, K keyTo, Instant from, Instant to) {
        return new Values<>(wrapped().backwardFetch(keyFrom, keyTo, from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> fetchAll(Instant from, Instant to) {
        return new Values<>(wrapped().fetchAll(from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> backwardFetchAll(Instant from, Instant to) {
        return new Values<>(wrapped().backwardFetchAll(from, to));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> all() {
        return new Values<>(wrapped().all());
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> backwardAll() {
        return new Values<>(wrapped().backwardAll());
    }

    /** Yields the values of an iterator without their timestamps. */
    private static class Values<K, V> implements KeyValueIterator<K, V> {
        private final KeyValueIterator<K, ValueAndTimestamp<V>> entries;

        Values(KeyValueIterator<K, ValueAndTimestamp<V>> entries) {
            this.entries = entries;
        }

        @Override
        public boolean hasNext() {
            return entries.hasNext();
        }

        @Override
        public KeyValue<K, V> next() {
            KeyValue<K, ValueAndTimestamp<V>> entry = entries.next();
            return KeyValue.pair(entry.key, entry.value.value());
        }

        @Override
        public K peekNextKey() {
            return entries.peekNextKey();
        }

        @Override
        public void close() {
            entries.close();
        }
    }

    /** The values of one key, each with the start of its window. */
    private static final class OneKey<V> extends Values<Long, V>
        implements WindowStoreIterator<V> {
        OneKey(KeyValueIterator<Long, ValueAndTimestamp<V>> entries) {
            super(entries);
        }
    }
}
