package foldb.streams;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;

/**
 * Supplies the innermost stores of sessions that merge.
 *
 * @param name the store's name
 * @param retentionPeriod how long sessions stay after their end, in milliseconds of stream time
 * @param operator the operator that is registered for the store
 */
record MergingSessionStoreSupplier(String name, long retentionPeriod, MergeOperator operator)
    implements SessionBytesStoreSupplier {
    @Override
    public SessionStore<Bytes, byte[]> get() {
        FoldbSessionStore data = new FoldbSessionStore(
            name, retentionPeriod, segmentIntervalMs(), false, true);
        return new FoldbMergingSessionStore(data, operator);
    }

    @Override
    public String metricsScope() {
        return FoldbStore.METRICS_SCOPE;
    }

    @Override
    public long segmentIntervalMs() {
        return Intervals.lengthFor(retentionPeriod);
    }
}
