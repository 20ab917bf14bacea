package foldb.streams;

import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.internals.MaterializedStoreFactory;
import org.apache.kafka.streams.kstream.internals.SessionStoreMaterializer;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.internals.StoreFactory;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.internals.SessionStoreBuilder;
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
        boolean isKnown = builder.getClass() == TimestampedKeyValueStoreBuilder.class
            || builder.getClass() == TimestampedWindowStoreBuilder.class
            || builder.getClass() == SessionStoreBuilder.class;
        if (!isKnown || !(builder.build() instanceof WrappedStateStore<?, ?, ?> layers)) {
            return "the store is neither a timestamped store nor a session store";
        }
        FoldbStore inner = Layers.find(layers, FoldbStore.class);
        if (inner == null) {
            return "the store is not one of foldb's; set dsl.store.suppliers.class to "
                + "foldb.streams.FoldbStoreSuppliers";
        }
        if (hasSessions()) {
            return null;
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
        Serde<K> keys = factory.keySerde();
        Serde<V> values = factory.valueSerde();
        StoreBuilder<?> merging;
        if (hasSessions()) {
            merging = Stores.sessionStoreBuilder(
                inner(builder, FoldbSessionStore.class).merging(operator), keys, values);
        } else if (isWindowStore()) {
            merging = Stores.timestampedWindowStoreBuilder(
                inner(builder, FoldbWindowStore.class).merging(operator), keys, values);
        } else {
            merging = Stores.timestampedKeyValueStoreBuilder(
                new MergingStoreSupplier(storeName(), operator), keys, values);
        }
        return (loggingEnabled() ? merging.withLoggingEnabled(logConfig())
            : merging.withLoggingDisabled()).withCachingDisabled();
    }

    /** Returns the innermost of the stock layers: what it was made with holds for the merges. */
    private static <T> T inner(StoreBuilder<?> builder, Class<T> type) {
        return Layers.find((StateStore) builder.build(), type);
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

    /** Returns whether the store has sessions. */
    boolean hasSessions() {
        return stock.getClass() == SessionStoreMaterializer.class;
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
