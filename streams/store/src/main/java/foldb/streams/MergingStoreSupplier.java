package foldb.streams;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Supplies the innermost stores of merges.
 *
 * @param name the store's name
 * @param operator the operator that its merges apply
 */
record MergingStoreSupplier(String name, MergeOperator operator)
    implements KeyValueBytesStoreSupplier {
    @Override
    public KeyValueStore<Bytes, byte[]> get() {
        return new FoldbMergingStore(
            FoldbKeyValueStore.timestamped(name, operator.id()), operator);
    }

    @Override
    public String metricsScope() {
        return FoldbKeyValueStore.METRICS_SCOPE;
    }
}
