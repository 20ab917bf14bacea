package foldb.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.config.ConfigException;
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
 * Makes the operands of one aggregation processor: it serializes what the processor puts, and runs
 * the aggregation itself beside the merges for the keys that are verified.
 *
 * <p>A record of several windows has one key, which is serialized once.
 */
final class Operands<K, V> {
    private final MergingStore store;
    private final StateSerdes<K, V> serdes;
    private final Aggregation<Object, Object, V> aggregation;
    private final InternalProcessorContext<?, ?> context;
    /** Of how many keys one is verified; 0 if none is. */
    private final long verifiedKeys;
    private Record<?, ?> record;
    private byte[] rawKey;

    private Operands(MergingStore store, StateSerdes<K, V> serdes,
            Aggregation<Object, Object, V> aggregation, InternalProcessorContext<?, ?> context) {
        this.store = store;
        this.serdes = serdes;
        this.aggregation = aggregation;
        this.context = context;
        this.verifiedKeys = MergeConfig.verifiedKeys(context.appConfigs());
    }

    /**
     * Returns the operands of a processor.
     *
     * @param layers the layers of the store, a {@link MergingStore} innermost
     * @param factory knows the store's serdes
     * @param aggregation what the processor does
     * @throws ConfigException if the aggregation's initial value is not neutral
     */
    @SuppressWarnings("unchecked")
    static <K, V> Operands<K, V> of(WrappedStateStore<?, ?, ?> layers, MergingStoreFactory factory,
            Aggregation<Object, Object, V> aggregation, InternalProcessorContext<?, ?> context) {
        SerdeGetter defaults = new SerdeGetter((ProcessorContext<?, ?>) context);
        Serde<K> keySerde = (Serde<K>) WrappingNullableUtils.prepareKeySerde(
            factory.keySerde(), defaults);
        Serde<V> valueSerde = (Serde<V>) WrappingNullableUtils.prepareValueSerde(
            factory.valueSerde(), defaults);
        String topic = ProcessorContextUtils.changelogFor(context, layers.name(), false);
        MergingStore store = Layers.find(layers, MergingStore.class);
        factory.operator().checkInitial(
            store.name(), aggregation.initializer().apply(), valueSerde, topic);
        return new Operands<>(store,
            new StateSerdes<>(topic, keySerde, valueSerde), aggregation, context);
    }

    void begin(Record<?, ?> next) {
        record = next;
        rawKey = null;
    }

    /** Returns the serialized key of the current record. */
    Bytes key(K key) {
        if (rawKey == null) {
            rawKey = Layers.rawKey(serdes, key, context.headers());
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
        byte[] operand = Layers.rawValue(serdes, value.value(), context.headers());
        ShadowValues.Shadow shadow =
            verifiedKeys > 0 && isVerified() ? aggregate(stored, value.timestamp()) : null;
        Merges merges = store.merges();
        merges.add(stored, value.timestamp(), operand);
        // An operand that was refused has changed neither the store nor the shadow.
        if (shadow != null) {
            merges.shadows().set(stored, shadow);
        }
        merges.foldIfFull();
    }

    /** Whether the current key is one of those that are verified. */
    private boolean isVerified() {
        // The multiplication spreads keys that differ in their last bytes only.
        int hash = Arrays.hashCode(rawKey) * 0x9E3779B9;
        return Integer.toUnsignedLong(hash ^ hash >>> 16) % verifiedKeys == 0;
    }

    /** Runs the aggregation itself, as the stock processor would. */
    private ShadowValues.Shadow aggregate(Bytes stored, long timestamp) {
        ShadowValues.Shadow before = store.merges().shadows().get(stored);
        byte[] stamped = before == null ? store.merges().value(stored) : before.value();
        V old = stamped == null ? aggregation.initializer().apply() : valueOf(stamped);
        long newest = stamped == null ? timestamp
            : Math.max(timestamp, ByteBuffer.wrap(stamped).getLong());
        V now = aggregation.aggregator().apply(record.key(), record.value(), old);
        byte[] raw = now == null ? null : Layers.rawValue(serdes, now, context.headers());
        byte[] next = raw == null ? null : store.merges().operator().operand(newest, raw);
        return new ShadowValues.Shadow(store.show(record.key(), stored), next,
            value -> valueOf(value) + " at " + ByteBuffer.wrap(value).getLong());
    }

    private V valueOf(byte[] stamped) {
        return Layers.valueFrom(serdes,
            Arrays.copyOfRange(stamped, MergeOperator.STAMP_BYTES, stamped.length),
            context.headers());
    }
}
