package foldb.streams;

import java.util.Objects;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.internals.WrappingNullableUtils;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.processor.internals.SerdeGetter;
import org.apache.kafka.streams.state.StateSerdes;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * What the merge stores of the Processor API share: serdes for operands, which go past Streams' own
 * layers, and the time of the current record.
 *
 * @param <S> Streams' layers
 * @param <W> the keys that those layers forward
 */
abstract class SerializingStore<S extends StateStore, W, K, V>
    extends WrappedStateStore<S, W, V> {
    private final Serde<K> keySerde;
    private final Serde<V> valueSerde;
    private StateSerdes<K, V> serdes;
    private InternalProcessorContext<?, ?> context;

    SerializingStore(S layers, Serde<K> keySerde, Serde<V> valueSerde) {
        super(layers);
        this.keySerde = keySerde;
        this.valueSerde = valueSerde;
    }

    @Override
    public final void init(StateStoreContext stateStoreContext, StateStore root) {
        context = ProcessorContextUtils.asInternalProcessorContext(stateStoreContext);
        SerdeGetter defaults = new SerdeGetter(stateStoreContext);
        serdes = new StateSerdes<>(
            ProcessorContextUtils.changelogFor(stateStoreContext, name(), false),
            WrappingNullableUtils.prepareKeySerde(keySerde, defaults),
            WrappingNullableUtils.prepareValueSerde(valueSerde, defaults));
        super.init(stateStoreContext, root);
    }

    final Bytes rawKey(K key) {
        Objects.requireNonNull(key, "key cannot be null");
        return Bytes.wrap(Layers.rawKey(serdes, key, context.headers()));
    }

    final byte[] rawOperand(V operand) {
        Objects.requireNonNull(operand, "operand cannot be null");
        return Layers.rawValue(serdes, operand, context.headers());
    }

    /** Returns the timestamp of the current record, or stream time outside of records. */
    final long timestamp() {
        ProcessorRecordContext current = context.recordContext();
        return current == null ? context.currentStreamTimeMs() : current.timestamp();
    }

    /** Returns a value with the timestamp of the current record. */
    final ValueAndTimestamp<V> stamped(V value) {
        return ValueAndTimestamp.make(value, value == null ? 0 : timestamp());
    }
}
