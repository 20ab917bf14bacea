package foldb.streams;

import java.util.List;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.internals.WrappingNullableUtils;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.SerdeGetter;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.StateSerdes;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * An aggregation processor's view of a merge store: every key appears absent, and a put is a merge.
 * If the processor asks for old values, the view is the store itself.
 */
final class OperandStore<K, V>
    extends WrappedStateStore<TimestampedKeyValueStore<K, V>, K, ValueAndTimestamp<V>>
    implements TimestampedKeyValueStore<K, V> {
    private final FoldbMergingStore merging;
    private final StateSerdes<K, V> serdes;
    private final InternalProcessorContext<?, ?> context;
    private final Runnable logOldValues;
    private boolean merges;

    private OperandStore(TimestampedKeyValueStore<K, V> store, FoldbMergingStore merging,
            StateSerdes<K, V> serdes, InternalProcessorContext<?, ?> context,
            Runnable logOldValues) {
        super(store);
        this.merging = merging;
        this.serdes = serdes;
        this.context = context;
        this.logOldValues = logOldValues;
    }

    /**
     * Makes the view of a store.
     *
     * @param store the layers of the store, a {@link FoldbMergingStore} innermost
     * @param factory knows the store's serdes
     * @param logOldValues runs if the processor asks for old values
     */
    @SuppressWarnings("unchecked")
    static <K, V> OperandStore<K, V> over(WrappedStateStore<?, ?, ?> store,
            MergingStoreFactory factory, InternalProcessorContext<?, ?> context,
            Runnable logOldValues) {
        SerdeGetter defaults = new SerdeGetter((org.apache.kafka.streams.processor.api
            .ProcessorContext<?, ?>) context);
        Serde<K> keySerde = (Serde<K>) WrappingNullableUtils.prepareKeySerde(
            factory.keySerde(), defaults);
        Serde<V> valueSerde = (Serde<V>) WrappingNullableUtils.prepareValueSerde(
            factory.valueSerde(), defaults);
        String topic = ProcessorContextUtils.changelogFor(context, store.name(), false);
        return new OperandStore<>((TimestampedKeyValueStore<K, V>) store,
            store.findInner(FoldbMergingStore.class),
            new StateSerdes<>(topic, keySerde, valueSerde), context, logOldValues);
    }

    @Override
    public boolean setFlushListener(
            CacheFlushListener<K, ValueAndTimestamp<V>> listener, boolean sendOldValues) {
        merges = super.setFlushListener(listener, sendOldValues);
        if (!merges) {
            logOldValues.run();
        }
        return merges;
    }

    @Override
    public ValueAndTimestamp<V> get(K key) {
        return merges ? null : wrapped().get(key);
    }

    @Override
    public void put(K key, ValueAndTimestamp<V> value) {
        if (!merges) {
            wrapped().put(key, value);
            return;
        }
        if (value == null) {
            throw new StreamsException("The aggregator of store " + name() + " returned null for a"
                + " fresh value. A merge cannot delete: return an operand, or remove "
                + FoldbConfig.MERGE_PREFIX + name() + " from the configuration");
        }
        byte[] rawKey = serdes.rawKey(key, context.headers());
        byte[] rawValue = serdes.rawValue(value.value(), context.headers());
        merging.merge(Bytes.wrap(rawKey), value.timestamp(), rawValue);
    }

    @Override
    public ValueAndTimestamp<V> putIfAbsent(K key, ValueAndTimestamp<V> value) {
        return wrapped().putIfAbsent(key, value);
    }

    @Override
    public void putAll(List<KeyValue<K, ValueAndTimestamp<V>>> entries) {
        wrapped().putAll(entries);
    }

    @Override
    public ValueAndTimestamp<V> delete(K key) {
        return wrapped().delete(key);
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> range(K from, K to) {
        return wrapped().range(from, to);
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> reverseRange(K from, K to) {
        return wrapped().reverseRange(from, to);
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> all() {
        return wrapped().all();
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> reverseAll() {
        return wrapped().reverseAll();
    }

    @Override
    public <PS extends Serializer<P>, P> KeyValueIterator<K, ValueAndTimestamp<V>> prefixScan(
            P prefix, PS prefixKeySerializer) {
        return wrapped().prefixScan(prefix, prefixKeySerializer);
    }

    @Override
    public long approximateNumEntries() {
        return wrapped().approximateNumEntries();
    }
}
