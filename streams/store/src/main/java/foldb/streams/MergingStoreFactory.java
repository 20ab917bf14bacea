package foldb.streams;

import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.internals.MaterializedStoreFactory;
import org.apache.kafka.streams.processor.internals.StoreFactory;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.internals.TimestampedKeyValueStoreBuilder;
import org.apache.kafka.streams.state.internals.TimestampedWindowStoreBuilder;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * Makes the store of an aggregation that merges. It is the stock factory, except that
 * {@link #builder()} puts a {@link MergingStore} where one of foldb's timestamped stores would be,
 * without the record cache above it. Any other store stays as it is.
 */
final class MergingStoreFactory implements StoreFactory {
    private final MaterializedStoreFactory<?, ?, ?> stock;
    private final MergeOperator operator;
    private final BooleanSupplier sendsOldValues;
    private volatile String obstacle = "the store has not been built";

    MergingStoreFactory(MaterializedStoreFactory<?, ?, ?> stock, MergeOperator operator,
            BooleanSupplier sendsOldValues) {
        this.stock = stock;
        this.operator = operator;
        this.sendsOldValues = sendsOldValues;
    }

    Serde<?> keySerde() {
        return stock.keySerde();
    }

    Serde<?> valueSerde() {
        return stock.valueSerde();
    }

    MergeOperator operator() {
        return operator;
    }

    /** Returns why the last store that was built does not merge, or {@code null}. */
    String obstacle() {
        return obstacle;
    }

    @Override
    public StoreBuilder<?> builder() {
        StoreBuilder<?> builder = stock.builder();
        obstacle = obstacle(builder);
        return obstacle == null ? merging(stock, builder) : builder;
    }

    private String obstacle(StoreBuilder<?> builder) {
        if (sendsOldValues.getAsBoolean()) {
            return "a downstream operation needs old values";
        }
        boolean isTimestamped = builder.getClass() == TimestampedKeyValueStoreBuilder.class
            || builder.getClass() == TimestampedWindowStoreBuilder.class;
        if (!isTimestamped || !(builder.build() instanceof WrappedStateStore<?, ?, ?> layers)) {
            return "the store is not a timestamped store";
        }
        FoldbStore inner = Layers.find(layers, FoldbStore.class);
        if (inner == null) {
            return "the store is not one of foldb's; set dsl.store.suppliers.class to "
                + "foldb.streams.FoldbStoreSuppliers";
        }
        if (!(inner instanceof TimestampedBytesStore)) {
            return "the store has no timestamps; use FoldbStores."
                + (isWindowStore() ? "timestampedWindowStore" : "timestampedKeyValueStore");
        }
        return inner instanceof FoldbWindowStore windows && !windows.hasOneValuePerWindow()
            ? "the store keeps several values for a window" : null;
    }

    private <K, V> StoreBuilder<?> merging(
            MaterializedStoreFactory<K, V, ?> factory, StoreBuilder<?> builder) {
        StoreBuilder<?> merging = isWindowStore()
            ? Stores.timestampedWindowStoreBuilder(
                windows(builder), factory.keySerde(), factory.valueSerde())
            : Stores.timestampedKeyValueStoreBuilder(
                new MergingStoreSupplier(storeName(), operator),
                factory.keySerde(), factory.valueSerde());
        return (loggingEnabled() ? merging.withLoggingEnabled(logConfig())
            : merging.withLoggingDisabled()).withCachingDisabled();
    }

    private MergingWindowStoreSupplier windows(StoreBuilder<?> builder) {
        WrappedStateStore<?, ?, ?> layers = (WrappedStateStore<?, ?, ?>) builder.build();
        return Layers.find(layers, FoldbWindowStore.class).merging(operator);
    }

    @Override
    public void configure(StreamsConfig config) {
        stock.configure(config);
    }

    @Override
    public long retentionPeriod() {
        return stock.retentionPeriod();
    }

    @Override
    public long historyRetention() {
        return stock.historyRetention();
    }

    @Override
    public Set<String> connectedProcessorNames() {
        return stock.connectedProcessorNames();
    }

    @Override
    public boolean loggingEnabled() {
        return stock.loggingEnabled();
    }

    @Override
    public String storeName() {
        return stock.storeName();
    }

    @Override
    public boolean isWindowStore() {
        return stock.isWindowStore();
    }

    @Override
    public boolean isVersionedStore() {
        return stock.isVersionedStore();
    }

    @Override
    public Map<String, String> logConfig() {
        return stock.logConfig();
    }

    @Override
    public StoreFactory withCachingDisabled() {
        stock.withCachingDisabled();
        return this;
    }

    @Override
    public StoreFactory withLoggingDisabled() {
        stock.withLoggingDisabled();
        return this;
    }

    @Override
    public boolean isCompatibleWith(StoreFactory other) {
        return other instanceof MergingStoreFactory factory
            && stock.isCompatibleWith(factory.stock);
    }
}
