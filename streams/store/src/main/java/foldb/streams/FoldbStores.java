package foldb.streams;

import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Makes suppliers of foldb's stores, for {@code Materialized.as} and for the builders of
 * {@link org.apache.kafka.streams.state.Stores}.
 */
public final class FoldbStores {
    private FoldbStores() {
    }

    /**
     * Makes a supplier of key-value stores without timestamps.
     *
     * @param name the name of the store
     * @return the supplier
     */
    public static KeyValueBytesStoreSupplier keyValueStore(final String name) {
        return new FoldbKeyValueStoreSupplier(name, false);
    }

    /**
     * Makes a supplier of key-value stores with a timestamp for each value. The DSL needs them.
     *
     * @param name the name of the store
     * @return the supplier
     */
    public static KeyValueBytesStoreSupplier timestampedKeyValueStore(final String name) {
        return new FoldbKeyValueStoreSupplier(name, true);
    }

    /**
     * Makes a builder of merge stores, for the Processor API.
     *
     * @param name the name of the store
     * @param operator the operator that merges apply: {@code sum}, {@code min}, {@code max},
     *     {@code append}, {@code set} or {@code hyperloglog}
     * @param keySerde the serde of keys, or {@code null} for the configured default
     * @param valueSerde the serde of values and operands, or {@code null} for the configured
     *     default
     * @param <K> the type of keys
     * @param <V> the type of values and operands
     * @return the builder
     * @throws ConfigException if the operator is unknown
     */
    public static <K, V> StoreBuilder<MergeStore<K, V>> mergeStoreBuilder(final String name,
        final String operator, final Serde<K> keySerde, final Serde<V> valueSerde) {
        return new MergeStoreBuilder<>(
            name, MergeOperator.named("operator", operator), keySerde, valueSerde);
    }
}
