package foldb.streams;

import java.util.Objects;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.internals.WrappingNullableUtils;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.processor.internals.SerdeGetter;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.StateSerdes;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * A merge store over Streams' own layers, which give it serdes, metrics and a changelog.
 *
 * <p>It is no {@code KeyValueStore}: the context would wrap such a store again and hide
 * {@link #merge}.
 */
final class FoldbMergeStore<K, V>
    extends WrappedStateStore<TimestampedKeyValueStore<K, V>, K, V>
    implements MergeStore<K, V> {
    private final Serde<K> keySerde;
    private final Serde<V> valueSerde;
    private final FoldbMergingStore merging;
    private StateSerdes<K, V> serdes;
    private InternalProcessorContext<?, ?> context;

    /**
     * Makes a store.
     *
     * @param layers Streams' layers, a {@link FoldbMergingStore} innermost
     * @param keySerde the serde of keys, or {@code null} for the configured default
     * @param valueSerde the serde of values, or {@code null} for the configured default
     */
    FoldbMergeStore(
            TimestampedKeyValueStore<K, V> layers, Serde<K> keySerde, Serde<V> valueSerde) {
        super(layers);
        this.keySerde = keySerde;
        this.valueSerde = valueSerde;
        this.merging = Layers.find(layers, FoldbMergingStore.class);
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
    public void merge(K key, V operand) {
        merge(key, operand, timestamp());
    }

    @Override
    public void merge(K key, V operand, long timestamp) {
        Objects.requireNonNull(key, "key cannot be null");
        Objects.requireNonNull(operand, "operand cannot be null");
        byte[] rawKey = Layers.rawKey(serdes, key, context.headers());
        byte[] rawOperand = Layers.rawValue(serdes, operand, context.headers());
        merging.merge(Bytes.wrap(rawKey), timestamp, rawOperand);
    }

    /** Returns the timestamp of the current record, or stream time outside of records. */
    private long timestamp() {
        ProcessorRecordContext current = context.recordContext();
        return current == null ? context.currentStreamTimeMs() : current.timestamp();
    }

    @Override
    public void put(K key, V value) {
        wrapped().put(key, ValueAndTimestamp.make(value, value == null ? 0 : timestamp()));
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
        return new Values<>(wrapped().range(from, to));
    }

    @Override
    public KeyValueIterator<K, V> reverseRange(K from, K to) {
        return new Values<>(wrapped().reverseRange(from, to));
    }

    @Override
    public KeyValueIterator<K, V> all() {
        return new Values<>(wrapped().all());
    }

    @Override
    public KeyValueIterator<K, V> reverseAll() {
        return new Values<>(wrapped().reverseAll());
    }

    @Override
    public <PS extends Serializer<P>, P> KeyValueIterator<K, V> prefixScan(
            P prefix, PS prefixKeySerializer) {
        return new Values<>(wrapped().prefixScan(prefix, prefixKeySerializer));
    }

    @Override
    public long approximateNumEntries() {
        return wrapped().approximateNumEntries();
    }

    /** Yields the values of an iterator without their timestamps. */
    private record Values<K, V>(KeyValueIterator<K, ValueAndTimestamp<V>> entries)
        implements KeyValueIterator<K, V> {
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
}
