package foldb.streams;

import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.internals.ApiUtils;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/** Supplies the window stores of one name. */
final class FoldbWindowStoreSupplier implements WindowBytesStoreSupplier {
    private final String name;
    private final long retention;
    private final long windowSize;
    private final boolean retainDuplicates;
    private final boolean timestamped;
    private final FoldbWindowStore.Order order;

    /**
     * Creates a supplier.
     *
     * @param retention how long windows stay, in stream time
     * @throws IllegalArgumentException if a duration is negative or too long, or the retention is
     *     shorter than a window
     */
    FoldbWindowStoreSupplier(
            final String name,
            final Duration retention,
            final Duration windowSize,
            final boolean retainDuplicates,
            final boolean timestamped,
            final FoldbWindowStore.Order order) {
        this.name = Objects.requireNonNull(name, "name cannot be null");
        this.retention = milliseconds(retention, "retentionPeriod");
        this.windowSize = milliseconds(windowSize, "windowSize");
        if (this.windowSize > this.retention) {
            throw new IllegalArgumentException("The retention period of the window store " + name
                + " must be no smaller than its window size. Got size=[" + windowSize
                + "], retention=[" + retention + "]");
        }
        this.retainDuplicates = retainDuplicates;
        this.timestamped = timestamped;
        this.order = order;
    }

    /** A supplier of what the DSL asks for. */
    static FoldbWindowStoreSupplier of(final DslWindowParams params) {
        final boolean onClose =
            params.emitStrategy().type() == EmitStrategy.StrategyType.ON_WINDOW_CLOSE;
        final FoldbWindowStore.Order order =
            onClose ? FoldbWindowStore.Order.BY_TIME : FoldbWindowStore.Order.BY_KEY;
        return new FoldbWindowStoreSupplier(
            params.name(),
            params.retentionPeriod(),
            params.windowSize(),
            params.retainDuplicates(),
            onClose || StoreFormats.hasTimestamps(params),
            order);
    }

    /** A supplier of the same stores that merge. */
    MergingWindowStoreSupplier merging(final MergeOperator operator) {
        return new MergingWindowStoreSupplier(name, retention, windowSize, operator);
    }

    /** A duration in milliseconds. */
    static long milliseconds(final Duration duration, final String what) {
        final long milliseconds = ApiUtils.validateMillisecondDuration(
            duration, ApiUtils.prepareMillisCheckFailMsgPrefix(duration, what));
        if (milliseconds < 0) {
            throw new IllegalArgumentException(what + " cannot be negative");
        }
        return milliseconds;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public WindowStore<Bytes, byte[]> get() {
        final long interval = segmentIntervalMs();
        return timestamped
            ? new FoldbTimestampedWindowStore(
                name, retention, interval, windowSize, retainDuplicates, order)
            : new FoldbWindowStore(
                name, retention, interval, windowSize, retainDuplicates, order,
                IntervalStore.Filtered.NOTHING);
    }

    @Override
    public String metricsScope() {
        return FoldbStore.METRICS_SCOPE;
    }

    @Override
    public long segmentIntervalMs() {
        return Intervals.lengthFor(retention);
    }

    @Override
    public long windowSize() {
        return windowSize;
    }

    @Override
    public boolean retainDuplicates() {
        return retainDuplicates;
    }

    @Override
    public long retentionPeriod() {
        return retention;
    }
}
