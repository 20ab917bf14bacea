package foldb.streams;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Supplies the innermost stores of windowed merges.
 *
 * @param name the store's name
 * @param retentionPeriod how long windows stay, in milliseconds of stream time
 * @param windowSize the size of a window in milliseconds
 * @param operator the operator that its merges apply
 */
record MergingWindowStoreSupplier(
        String name, long retentionPeriod, long windowSize, MergeOperator operator)
    implements WindowBytesStoreSupplier {
    @Override
    public WindowStore<Bytes, byte[]> get() {
        FoldbTimestampedWindowStore data = new FoldbTimestampedWindowStore(
            name, retentionPeriod, segmentIntervalMs(), windowSize, operator);
        return new FoldbMergingWindowStore(data, operator);
    }

    @Override
    public String metricsScope() {
        return FoldbStore.METRICS_SCOPE;
    }

    @Override
    public long segmentIntervalMs() {
        return Intervals.lengthFor(retentionPeriod);
    }

    @Override
    public boolean retainDuplicates() {
        return false;
    }
}
