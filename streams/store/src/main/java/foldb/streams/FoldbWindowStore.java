package foldb.streams;

import java.util.Objects;
import java.util.function.Predicate;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.TimeWindow;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A window store in one foldb database.
 *
 * <p>Results, orders and expiry are those of the persistent window store of Kafka Streams, with
 * two differences. A closed store throws {@code InvalidStateStoreException} where that one finds
 * nothing. An iterator has the entries of all intervals as of its first use.
 */
class FoldbWindowStore extends IntervalStore implements WindowStore<Bytes, byte[]> {
    /** In which order a window store iterates over several keys. */
    enum Order {
        /** Interval by interval, by key within an interval. */
        BY_KEY,
        /** By time, except for ranges of keys. For sliding windows that leave when they close. */
        BY_TIME
    }

    private static final Logger LOG = LoggerFactory.getLogger(FoldbWindowStore.class);

    private final long retention;
    private final long windowSize;
    private final boolean retainDuplicates;
    private int number;

    FoldbWindowStore(
            final String name,
            final long retention,
            final long interval,
            final long windowSize,
            final boolean retainDuplicates,
            final Order order,
            final Filtered filtered) {
        super(name, KeyLayout.WINDOW, retention, interval, order != Order.BY_KEY, filtered);
        this.retention = retention;
        this.windowSize = windowSize;
        this.retainDuplicates = retainDuplicates;
    }

    /** Whether a key has at most one value in a window, and the store iterates by key. */
    final boolean hasOneValuePerWindow() {
        return !retainDuplicates && !isIndexed();
    }

    /** A supplier of stores as this one that merge. */
    final MergingWindowStoreSupplier merging(final MergeOperator operator) {
        return new MergingWindowStoreSupplier(name(), retention, windowSize, operator);
    }

    @Override
    long firstReadable() {
        // A window that leaves when it closes may close exactly when the retention period ends.
        return intervals().expiredTime() + (isIndexed() ? 0 : 1);
    }

    @Override
    public void put(final Bytes key, final byte[] value, final long windowStartTimestamp) {
        if (retainDuplicates) {
            if (value == null) {
                return;
            }
            number = (number + 1) & Integer.MAX_VALUE;
        }
        write(new TimedKey(key, windowStartTimestamp, number), value);
    }

    @Override
    public byte[] fetch(final Bytes key, final long time) {
        return read(new TimedKey(key, time, number));
    }

    @Override
    public WindowStoreIterator<byte[]> fetch(
            final Bytes key, final long timeFrom, final long timeTo) {
        return values(key, timeFrom, timeTo, true);
    }

    @Override
    public WindowStoreIterator<byte[]> backwardFetch(
            final Bytes key, final long timeFrom, final long timeTo) {
        return values(key, timeFrom, timeTo, false);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
            final Bytes keyFrom, final Bytes keyTo, final long timeFrom, final long timeTo) {
        return range(keyFrom, keyTo, timeFrom, timeTo, true);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
            final Bytes keyFrom, final Bytes keyTo, final long timeFrom, final long timeTo) {
        return range(keyFrom, keyTo, timeFrom, timeTo, false);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(
            final long timeFrom, final long timeTo) {
        return everything(timeFrom, timeTo, true);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(
            final long timeFrom, final long timeTo) {
        return everything(timeFrom, timeTo, false);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> all() {
        return everything(0, Long.MAX_VALUE, true);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardAll() {
        return everything(0, Long.MAX_VALUE, false);
    }

    private WindowStoreIterator<byte[]> values(
            final Bytes key, final long timeFrom, final long timeTo, final boolean forward) {
        Objects.requireNonNull(key, "key cannot be null");
        checkOpen();
        final long from = Math.max(timeFrom, firstReadable());
        final TimedEntries entries = timeTo < from
            ? TimedEntries.NONE
            : entries(KeyOrder.BY_KEY, forward, key, key, from, timeTo);
        final Predicate<TimedKey> wanted = entry -> entry.key().equals(key);
        return new WindowValues(entries, wanted.and(within(from, timeTo)));
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> range(
            final Bytes keyFrom,
            final Bytes keyTo,
            final long timeFrom,
            final long timeTo,
            final boolean forward) {
        if (isReversed(keyFrom, keyTo)) {
            return TimedIterator.empty();
        }
        return iterator(KeyOrder.BY_KEY, keyFrom, keyTo, timeFrom, timeTo, forward);
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> everything(
            final long timeFrom, final long timeTo, final boolean forward) {
        final KeyOrder allOrder = isIndexed() ? KeyOrder.BY_TIME : KeyOrder.BY_KEY;
        return iterator(allOrder, null, null, timeFrom, timeTo, forward);
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> iterator(
            final KeyOrder keyOrder,
            final Bytes keyFrom,
            final Bytes keyTo,
            final long timeFrom,
            final long timeTo,
            final boolean forward) {
        checkOpen();
        final long from = Math.max(timeFrom, firstReadable());
        final TimedEntries entries = timeTo < from
            ? TimedEntries.NONE
            : entries(keyOrder, forward, keyFrom, keyTo, from, timeTo);
        return new TimedIterator<>(
            entries, keys(keyFrom, keyTo).and(within(from, timeTo)), this::windowed);
    }

    private static Predicate<TimedKey> within(final long from, final long to) {
        return entry -> entry.time() >= from && entry.time() <= to;
    }

    private Windowed<Bytes> windowed(final TimedKey entry) {
        long end = entry.time() + windowSize;
        if (end < 0) {
            LOG.warn("Warning: window end time was truncated to Long.MAX");
            end = Long.MAX_VALUE;
        }
        return new Windowed<>(entry.key(), new TimeWindow(entry.time(), end));
    }
}
