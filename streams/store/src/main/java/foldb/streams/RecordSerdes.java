package foldb.streams;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.internals.WrappingNullableUtils;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.SerdeGetter;
import org.apache.kafka.streams.state.StateSerdes;

/**
 * The serdes of an aggregation's store. A record has one key, which is serialized once, however
 * many windows or sessions it changes.
 */
final class RecordSerdes<K, V> {
    private final StateSerdes<K, V> serdes;
    private final InternalProcessorContext<?, ?> context;
    private byte[] rawKey;

    private RecordSerdes(StateSerdes<K, V> serdes, InternalProcessorContext<?, ?> context) {
        this.serdes = serdes;
        this.context = context;
    }

    /** Returns the serdes of a factory's store, or those of the configuration. */
    @SuppressWarnings("unchecked")
    static <K, V> RecordSerdes<K, V> of(
            MergingStoreFactory factory, InternalProcessorContext<?, ?> context) {
        SerdeGetter defaults = new SerdeGetter((ProcessorContext<?, ?>) context);
        Serde<K> keySerde = (Serde<K>) WrappingNullableUtils.prepareKeySerde(
            factory.keySerde(), defaults);
        Serde<V> valueSerde = (Serde<V>) WrappingNullableUtils.prepareValueSerde(
            factory.valueSerde(), defaults);
        String topic = ProcessorContextUtils.changelogFor(context, factory.storeName(), false);
        return new RecordSerdes<>(new StateSerdes<>(topic, keySerde, valueSerde), context);
    }

    Serde<V> values() {
        return serdes.valueSerde();
    }

    String topic() {
        return serdes.topic();
    }

    /** Forgets the key: the next record begins. */
    void begin() {
        rawKey = null;
    }

    /** Returns the serialized key of the current record. */
    Bytes key(K key) {
        if (rawKey == null) {
            rawKey = Layers.rawKey(serdes, key, context.headers());
        }
        return Bytes.wrap(rawKey);
    }

    /** Returns the serialized key of the current record, which {@link #key(Object)} has seen. */
    byte[] key() {
        return rawKey;
    }

    byte[] raw(V value) {
        return Layers.rawValue(serdes, value, context.headers());
    }

    V value(byte[] raw) {
        return Layers.valueFrom(serdes, raw, context.headers());
    }
}
