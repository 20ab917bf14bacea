package foldb.streams;

import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Makes foldb the store of a whole topology: set {@code dsl.store.suppliers.class} to this class.
 *
 * <p>Stores in the format with headers, and versioned stores, are those of Kafka Streams. So are
 * the stores of time windows that leave when they close. Their results must leave in the order of
 * time. Streams puts a record cache in that order only before the class of its own store.
 */
public final class FoldbStoreSuppliers implements DslStoreSuppliers {
    /** Makes the suppliers. Streams calls it. */
    public FoldbStoreSuppliers() {
    }

    @Override
    public KeyValueBytesStoreSupplier keyValueStore(final DslKeyValueParams params) {
        if (StoreFormats.hasHeaders(params)) {
            return BuiltInDslStoreSuppliers.ROCKS_DB.keyValueStore(params);
        }
        return StoreFormats.hasTimestamps(params)
            ? FoldbStores.timestampedKeyValueStore(params.name())
            : FoldbStores.keyValueStore(params.name());
    }

    @Override
    public WindowBytesStoreSupplier windowStore(final DslWindowParams params) {
        final boolean leavesThroughCache = !params.isSlidingWindow()
            && params.emitStrategy().type() == EmitStrategy.StrategyType.ON_WINDOW_CLOSE;
        return leavesThroughCache || StoreFormats.hasHeaders(params)
            ? BuiltInDslStoreSuppliers.ROCKS_DB.windowStore(params)
            : FoldbWindowStoreSupplier.of(params);
    }

    @Override
    public SessionBytesStoreSupplier sessionStore(final DslSessionParams params) {
        return StoreFormats.hasHeaders(params)
            ? BuiltInDslStoreSuppliers.ROCKS_DB.sessionStore(params)
            : FoldbSessionStoreSupplier.of(params);
    }
}
