package foldb.streams;

import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.internals.KeyValueStoreMaterializer;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.internals.StoreFactory;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.internals.TimestampedKeyValueStoreBuilder;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * Makes the store of an aggregation that merges. It is the stock factory, except that
 * {@link #builder()} puts a {@link FoldbMergingStore} where one of foldb's timestamped stores
 * would be, without the record cache above it. Any other store stays as it is.
 */
final class MergingStoreFactory implements StoreFactory {
    private final KeyValueStoreMaterializer<?, ?> stock;
    private final MergeOperator operator;
    private final BooleanSupplier sendsOldValues;
    private volatile String obstacle = "the store has not been built";

    MergingStoreFactory(KeyValueStoreMaterializer<?, ?> stock, MergeOperator operator,
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

    /** Returns why the last store that was built does not merge, or {@code null}. */
    String obstacle() {
        return obstacle;
    }

    @Override
    public StoreBuilder<?> builder() {
        StoreBuilder<?> builder = stock.builder();
        obstacle = obstacle(builder);
        return obstacle == null ? merging(stock) : builder;
    }

    private String obstacle(StoreBuilder<?> builder) {
        if (sendsOldValues.getAsBoolean()) {
            return "a downstream operation needs old values";
        }
        StateStore store = builder.build();
        if (builder.getClass() != TimestampedKeyValueStoreBuilder.class
                || !(store instanceof WrappedStateStore<?, ?, ?> layers)) {
            return "the store is not a timestamped key-value store";
        }
        FoldbKeyValueStore inner = layers.findInner(FoldbKeyValueStore.class);
        if (inner == null) {
            return "the store is not one of foldb's; set dsl.store.suppliers.class to "
                + "foldb.streams.FoldbStoreSuppliers";
        }
        return inner instanceof TimestampedBytesStore ? null
            : "the store has no timestamps; use FoldbStores.timestampedKeyValueStore";
    }

    private <K, V> StoreBuilder<?> merging(KeyValueStoreMaterializer<K, V> materializer) {
        var builder = Stores.timestampedKeyValueStoreBuilder(
            new MergingStoreSupplier(storeName(), operator),
            materializer.keySerde(), materializer.valueSerde());
        return (loggingEnabled() ? builder.withLoggingEnabled(logConfig())
            : builder.withLoggingDisabled()).withCachingDisabled();
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
