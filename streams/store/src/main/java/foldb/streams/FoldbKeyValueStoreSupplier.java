package foldb.streams;

import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;

/** Supplies key-value stores. */
final class FoldbKeyValueStoreSupplier implements KeyValueBytesStoreSupplier {
    private final String name;
    private final boolean timestamped;

    FoldbKeyValueStoreSupplier(final String name, final boolean timestamped) {
        this.name = Objects.requireNonNull(name, "name cannot be null");
        this.timestamped = timestamped;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public KeyValueStore<Bytes, byte[]> get() {
        return timestamped
            ? FoldbKeyValueStore.timestamped(name, null) : FoldbKeyValueStore.plain(name);
    }

    @Override
    public String metricsScope() {
        return FoldbStore.METRICS_SCOPE;
    }
}
