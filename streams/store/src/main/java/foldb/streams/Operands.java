package foldb.streams;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.internals.WrappingNullableUtils;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.SerdeGetter;
import org.apache.kafka.streams.state.StateSerdes;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * Makes the operands of one aggregation processor: it serializes what the processor puts.
 *
 * <p>A record of several windows has one key, which is serialized once.
 */
final class Operands<K, V> {
    private final MergingStore store;
    private final StateSerdes<K, V> serdes;
    private final InternalProcessorContext<?, ?> context;
    private Record<?, ?> record;
    private byte[] rawKey;

    private Operands(MergingStore store, StateSerdes<K, V> serdes,
            InternalProcessorContext<?, ?> context) {
        this.store = store;
        this.serdes = serdes;
        this.context = context;
    }

    /**
     * Returns the operands of a processor.
     *
     * @param layers the layers of the store, a {@link MergingStore} innermost
     * @param factory knows the store's serdes
     * @param aggregation what the processor does
     */
    @SuppressWarnings("unchecked")
    static <K, V> Operands<K, V> of(WrappedStateStore<?, ?, ?> layers, MergingStoreFactory factory,
            Aggregation<?, ?, ?> aggregation, InternalProcessorContext<?, ?> context) {
        SerdeGetter defaults = new SerdeGetter((ProcessorContext<?, ?>) context);
        Serde<K> keySerde = (Serde<K>) WrappingNullableUtils.prepareKeySerde(
            factory.keySerde(), defaults);
        Serde<V> valueSerde = (Serde<V>) WrappingNullableUtils.prepareValueSerde(
            factory.valueSerde(), defaults);
        String topic = ProcessorContextUtils.changelogFor(context, layers.name(), false);
        return new Operands<>(layers.findInner(MergingStore.class),
            new StateSerdes<>(topic, keySerde, valueSerde), context);
    }

    void begin(Record<?, ?> next) {
        record = next;
        rawKey = null;
    }

    /** Returns the serialized key of the current record. */
    Bytes key(K key) {
        if (rawKey == null) {
            rawKey = serdes.rawKey(key, context.headers());
        }
        return Bytes.wrap(rawKey);
    }

    /**
     * Merges what the processor puts for the current record.
     *
     * @param stored the stored key
     * @param value what the aggregator made of a fresh value and the record
     */
    void merge(Bytes stored, ValueAndTimestamp<V> value) {
        if (value == null) {
            throw new StreamsException("The aggregator of store " + store.name() + " returned null"
                + " for a fresh value. A merge cannot delete: return an operand, or remove "
                + FoldbConfig.MERGE_PREFIX + store.name() + " from the configuration");
        }
        byte[] operand = serdes.rawValue(value.value(), context.headers());
        store.merges().merge(stored, value.timestamp(), operand);
    }
}
