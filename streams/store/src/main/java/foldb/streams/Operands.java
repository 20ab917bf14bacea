package foldb.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
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
    private final OperandMerges merges;
    private final RecordSerdes<K, V> serdes;
    private final Aggregation<Object, Object, V> aggregation;
    /** Of how many keys one is verified; 0 if none is. */
    private final long verifiedKeys;
    private Record<?, ?> record;

    private Operands(MergingStore store, OperandMerges merges, RecordSerdes<K, V> serdes,
            Aggregation<Object, Object, V> aggregation, InternalProcessorContext<?, ?> context) {
        this.store = store;
        this.merges = merges;
        this.serdes = serdes;
        this.aggregation = aggregation;
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
    static <K, V> Operands<K, V> of(WrappedStateStore<?, ?, ?> layers, MergingStoreFactory factory,
            Aggregation<Object, Object, V> aggregation, InternalProcessorContext<?, ?> context) {
        RecordSerdes<K, V> serdes = RecordSerdes.of(factory, context);
        MergingStore store = Layers.find(layers, MergingStore.class);
        // The factory chose the store: only session stores have other merges.
        OperandMerges merges = (OperandMerges) store.merges();
        factory.operator().checkInitial(store.name(), aggregation.initializer().apply(),
            serdes.values(), serdes.topic());
        return new Operands<>(store, merges, serdes, aggregation, context);
    }

    void begin(Record<?, ?> next) {
        record = next;
        serdes.begin();
    }

    /** Returns the serialized key of the current record. */
    Bytes key(K key) {
        return serdes.key(key);
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
        byte[] operand = serdes.raw(value.value());
        ShadowValues.Shadow shadow =
            verifiedKeys > 0 && isVerified() ? aggregate(stored, value.timestamp()) : null;
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
        int hash = Arrays.hashCode(serdes.key()) * 0x9E3779B9;
        return Integer.toUnsignedLong(hash ^ hash >>> 16) % verifiedKeys == 0;
    }

    /** Runs the aggregation itself, as the stock processor would. */
    private ShadowValues.Shadow aggregate(Bytes stored, long timestamp) {
        ShadowValues.Shadow before = merges.shadows().get(stored);
        byte[] stamped = before == null ? merges.value(stored) : before.value();
        V old = stamped == null ? aggregation.initializer().apply() : valueOf(stamped);
        long newest = stamped == null ? timestamp
            : Math.max(timestamp, ByteBuffer.wrap(stamped).getLong());
        V now = aggregation.aggregator().apply(record.key(), record.value(), old);
        byte[] raw = now == null ? null : serdes.raw(now);
        byte[] next = raw == null ? null : merges.operator().operand(newest, raw);
        return new ShadowValues.Shadow(store.show(record.key(), stored), next,
            value -> valueOf(value) + " at " + ByteBuffer.wrap(value).getLong());
    }

    private V valueOf(byte[] stamped) {
        return serdes.value(
            Arrays.copyOfRange(stamped, MergeOperator.STAMP_BYTES, stamped.length));
    }
}
