package foldb.streams;

import java.util.Collection;
import java.util.NavigableSet;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The time intervals of one store, and the stream time that ends their life.
 *
 * <p>A store keeps the entries of one interval together and drops them together, when the stream
 * time passes the interval by the retention period. The stream time is the greatest time of the
 * entries written since the store was opened. The set of intervals is safe for readers in other
 * threads. Only the thread of the task writes.
 */
final class Intervals {
    private static final long SHORTEST = 60_000;

    private final long length;
    private final long retention;
    private final ConcurrentSkipListSet<Long> known = new ConcurrentSkipListSet<>();
    private volatile long streamTime = ConsumerRecord.NO_TIMESTAMP;
    private volatile long expiredBefore = Long.MIN_VALUE;

    /**
     * Creates an empty set of intervals.
     *
     * @param length the length of an interval in milliseconds
     * @param retention the retention period in milliseconds
     */
    Intervals(final long length, final long retention) {
        this.length = length;
        this.retention = retention;
    }

    /** The length of an interval for a retention period, both in milliseconds. */
    static long lengthFor(final long retention) {
        return Math.max(retention / 2, SHORTEST);
    }

    /** The interval of a time. */
    long of(final long time) {
        return time / length;
    }

    /** The latest time of an interval, in milliseconds. */
    long lastTime(final long interval) {
        return interval >= Long.MAX_VALUE / length
            ? Long.MAX_VALUE
            : interval * length + length - 1;
    }

    /** Moves the stream time forward to {@code time}, or leaves it. */
    void observe(final long time) {
        if (time > streamTime) {
            streamTime = time;
        }
    }

    /** The stream time minus the retention period, in milliseconds. */
    long expiredTime() {
        return streamTime - retention;
    }

    /** The first interval that takes writes at the present stream time. */
    long firstLive() {
        return of(expiredTime());
    }

    /** Adds an interval that has entries. */
    void add(final long interval) {
        known.add(interval);
    }

    /** Whether the interval has entries, as far as this set knows. */
    boolean has(final long interval) {
        return known.contains(interval);
    }

    /**
     * Forgets the intervals that take no more writes.
     *
     * @return the first of them, or null if there is none
     */
    Long expire() {
        final long live = firstLive();
        if (live <= expiredBefore) {
            return null;
        }
        expiredBefore = live;
        final NavigableSet<Long> expired = known.headSet(live, false);
        final Long first = expired.isEmpty() ? null : expired.first();
        expired.clear();
        return first;
    }

    /** Whether the interval was forgotten. */
    boolean isExpired(final long interval) {
        return interval < expiredBefore;
    }

    /**
     * The known intervals from {@code first} to {@code last}, in order.
     *
     * @throws IllegalArgumentException if {@code first} is greater than {@code last}
     */
    Collection<Long> between(final long first, final long last) {
        return known.subSet(first, true, last, true);
    }

    /** Forgets all intervals. */
    void clear() {
        known.clear();
    }
}
