package foldb.streams;

import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

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
     * Makes a supplier of window stores without timestamps.
     *
     * @param name the name of the store
     * @param retention how long windows stay, in stream time; at least the size of a window
     * @param windowSize the size of a window
     * @param retainDuplicates whether records with the same key and window all stay; such a store
     *     ignores null values
     * @return the supplier
     * @throws IllegalArgumentException if a duration is negative or too long, or the retention is
     *     shorter than a window
     */
    public static WindowBytesStoreSupplier windowStore(
            final String name,
            final Duration retention,
            final Duration windowSize,
            final boolean retainDuplicates) {
        return new FoldbWindowStoreSupplier(
            name, retention, windowSize, retainDuplicates, false,
            FoldbWindowStore.Order.BY_KEY);
    }

    /**
     * Makes a supplier of window stores with a timestamp for each value. The DSL needs them.
     *
     * @param name the name of the store
     * @param retention how long windows stay, in stream time; at least the size of a window
     * @param windowSize the size of a window
     * @param retainDuplicates whether records with the same key and window all stay; such a store
     *     ignores null values
     * @return the supplier
     * @throws IllegalArgumentException if a duration is negative or too long, or the retention is
     *     shorter than a window
     */
    public static WindowBytesStoreSupplier timestampedWindowStore(
            final String name,
            final Duration retention,
            final Duration windowSize,
            final boolean retainDuplicates) {
        return new FoldbWindowStoreSupplier(
            name, retention, windowSize, retainDuplicates, true,
            FoldbWindowStore.Order.BY_KEY);
    }

    /**
     * Makes a supplier of session stores.
     *
     * @param name the name of the store
     * @param retention how long sessions stay after their end, in stream time
     * @return the supplier
     * @throws IllegalArgumentException if the retention is negative or too long
     */
    public static SessionBytesStoreSupplier sessionStore(
            final String name, final Duration retention) {
        return new FoldbSessionStoreSupplier(name, retention, false);
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
        final MergingStoreSupplier supplier = new MergingStoreSupplier(
            Objects.requireNonNull(name, "name cannot be null"),
            MergeOperator.named("operator", operator));
        return new MergeStoreBuilder<>(
            Stores.timestampedKeyValueStoreBuilder(supplier, keySerde, valueSerde),
            layers -> new FoldbMergeStore<>(layers, keySerde, valueSerde));
    }

    /**
     * Makes a builder of window stores that merge, for the Processor API.
     *
     * @param name the name of the store
     * @param operator the operator that merges apply: {@code sum}, {@code min}, {@code max},
     *     {@code append}, {@code set} or {@code hyperloglog}
     * @param retention how long windows stay, in stream time; at least the size of a window
     * @param windowSize the size of a window
     * @param keySerde the serde of keys, or {@code null} for the configured default
     * @param valueSerde the serde of values and operands, or {@code null} for the configured
     *     default
     * @param <K> the type of keys
     * @param <V> the type of values and operands
     * @return the builder
     * @throws ConfigException if the operator is unknown
     * @throws IllegalArgumentException if a duration is negative or too long, or the retention is
     *     shorter than a window
     */
    public static <K, V> StoreBuilder<MergeWindowStore<K, V>> mergeWindowStoreBuilder(
            final String name,
            final String operator,
            final Duration retention,
            final Duration windowSize,
            final Serde<K> keySerde,
            final Serde<V> valueSerde) {
        final MergeOperator known = MergeOperator.named("operator", operator);
        final FoldbWindowStoreSupplier stored = new FoldbWindowStoreSupplier(
            name, retention, windowSize, false, true, FoldbWindowStore.Order.BY_KEY);
        return new MergeStoreBuilder<>(
            Stores.timestampedWindowStoreBuilder(stored.merging(known), keySerde, valueSerde),
            layers -> new FoldbMergeWindowStore<>(layers, keySerde, valueSerde));
    }
}
