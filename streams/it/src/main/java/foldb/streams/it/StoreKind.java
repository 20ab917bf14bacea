package foldb.streams.it;

import java.util.Locale;
import java.util.Map;

/** Which stores an application uses. */
enum StoreKind {
    /** The stores of Kafka Streams. */
    STOCK,
    /** The stores of foldb, through the configuration only. */
    FOLDB,
    /** The stores of foldb, and merges in place of a get and a put for each record. */
    MERGE;

    static StoreKind of(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }

    /** Returns the name on the command line and in reports. */
    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Adds the configuration of the stores.
     *
     * @param operators the operator of each store that can merge, by the name of the store
     */
    void configure(Map<String, String> settings, Map<String, String> operators) {
        if (this == STOCK) {
            return;
        }
        settings.put("dsl.store.suppliers.class", "foldb.streams.FoldbStoreSuppliers");
        if (this == MERGE) {
            settings.put("processor.wrapper.class", "foldb.streams.MergingProcessorWrapper");
            operators.forEach((store, name) -> settings.put("foldb.merge." + store, name));
        }
    }
}
