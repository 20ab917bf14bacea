package foldb.streams;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;

/**
 * Builds merge stores. Changelog logging is on by default. The record cache does not apply: a merge
 * store always logs once per changed key and commit.
 */
final class MergeStoreBuilder<K, V> implements StoreBuilder<MergeStore<K, V>> {
    private final String name;
    private final MergeOperator operator;
    private final Serde<K> keySerde;
    private final Serde<V> valueSerde;
    private final Map<String, String> logConfig = new HashMap<>();
    private boolean logging = true;

    MergeStoreBuilder(
            String name, MergeOperator operator, Serde<K> keySerde, Serde<V> valueSerde) {
        this.name = Objects.requireNonNull(name, "name cannot be null");
        this.operator = operator;
        this.keySerde = keySerde;
        this.valueSerde = valueSerde;
    }

    @Override
    public StoreBuilder<MergeStore<K, V>> withCachingEnabled() {
        return this;
    }

    @Override
    public StoreBuilder<MergeStore<K, V>> withCachingDisabled() {
        return this;
    }

    @Override
    public StoreBuilder<MergeStore<K, V>> withLoggingEnabled(Map<String, String> config) {
        Objects.requireNonNull(config, "config can't be null");
        logging = true;
        logConfig.putAll(config);
        return this;
    }

    @Override
    public StoreBuilder<MergeStore<K, V>> withLoggingDisabled() {
        logging = false;
        logConfig.clear();
        return this;
    }

    @Override
    public MergeStore<K, V> build() {
        StoreBuilder<TimestampedKeyValueStore<K, V>> layers = Stores
            .timestampedKeyValueStoreBuilder(
                new MergingStoreSupplier(name, operator), keySerde, valueSerde)
            .withCachingDisabled();
        TimestampedKeyValueStore<K, V> store =
            (logging ? layers.withLoggingEnabled(logConfig) : layers.withLoggingDisabled())
                .build();
        return new FoldbMergeStore<>(store, keySerde, valueSerde);
    }

    @Override
    public Map<String, String> logConfig() {
        return logConfig;
    }

    @Override
    public boolean loggingEnabled() {
        return logging;
    }

    @Override
    public String name() {
        return name;
    }
}
