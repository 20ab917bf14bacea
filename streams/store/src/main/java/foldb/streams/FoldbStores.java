package foldb.streams;

import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;

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
}
