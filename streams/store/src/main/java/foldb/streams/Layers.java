package foldb.streams;

import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.StateSerdes;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/** The layers that Streams puts around a store, in a form that each version has. */
final class Layers {
    private Layers() {
    }

    /** Returns the outermost layer of a type, or the store itself; {@code null} if none has it. */
    static <T> T find(StateStore outermost, Class<T> type) {
        StateStore layer = outermost;
        while (!type.isInstance(layer)) {
            if (!(layer instanceof WrappedStateStore<?, ?, ?> outer)) {
                return null;
            }
            layer = outer.wrapped();
        }
        return type.cast(layer);
    }

    /**
     * Returns the outermost layer of a class that some versions do not show; {@code null} if there
     * is none.
     */
    @SuppressWarnings("unchecked")
    static <T> T named(StateStore outermost, String simpleName) {
        StateStore layer = outermost;
        while (!layer.getClass().getSimpleName().equals(simpleName)) {
            if (!(layer instanceof WrappedStateStore<?, ?, ?> outer)) {
                return null;
            }
            layer = outer.wrapped();
        }
        return (T) layer;
    }

    @SuppressWarnings("deprecation")
    static <K> byte[] rawKey(StateSerdes<K, ?> serdes, K key, Headers headers) {
        return KafkaVersions.SERDES_SEE_HEADERS
            ? serdes.rawKey(key, headers) : serdes.rawKey(key);
    }

    @SuppressWarnings("deprecation")
    static <V> byte[] rawValue(StateSerdes<?, V> serdes, V value, Headers headers) {
        return KafkaVersions.SERDES_SEE_HEADERS
            ? serdes.rawValue(value, headers) : serdes.rawValue(value);
    }

    @SuppressWarnings("deprecation")
    static <V> V valueFrom(StateSerdes<?, V> serdes, byte[] raw, Headers headers) {
        return KafkaVersions.SERDES_SEE_HEADERS
            ? serdes.valueFrom(raw, headers) : serdes.valueFrom(raw);
    }
}
