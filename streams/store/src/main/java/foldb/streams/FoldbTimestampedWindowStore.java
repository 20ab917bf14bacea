package foldb.streams;

import org.apache.kafka.streams.state.TimestampedBytesStore;

/** A window store whose values carry a timestamp. It stores the bytes that it gets. */
final class FoldbTimestampedWindowStore extends FoldbWindowStore implements TimestampedBytesStore {
    private final MergeOperator operator;

    FoldbTimestampedWindowStore(
            final String name,
            final long retention,
            final long interval,
            final long windowSize,
            final boolean retainDuplicates,
            final Order order) {
        super(
            name, retention, interval, windowSize, retainDuplicates, order, Filtered.NOTHING);
        this.operator = null;
    }

    /** Makes a store that merges; it has one value for each key and window. */
    FoldbTimestampedWindowStore(
            final String name,
            final long retention,
            final long interval,
            final long windowSize,
            final MergeOperator operator) {
        super(name, retention, interval, windowSize, false, Order.BY_KEY,
            operator.isNumber() ? Filtered.STORED_KEYS : Filtered.NOTHING);
        this.operator = operator;
    }

    @Override
    String mergeOperator() {
        return operator == null ? null : operator.id();
    }
}
