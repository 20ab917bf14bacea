package foldb.streams;

import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;

/**
 * The time intervals of one store, and the stream time that ends their life.
 *
 * <p>A store keeps the entries of one interval together and drops them together, when the stream
 * time passes the interval by the retention period. The stream time is the greatest time of the
 * entries written since the store was opened. The set of intervals is safe for readers in other
 * threads. Only the thread of the task writes.
 *
 * <p>The intervals of a store that looks keys up often know which keys they may have. The keys of
 * intervals that were there at the open, or that restored entries have come to, are unknown.
 */
final class Intervals {
    private static final long SHORTEST = 60_000;
    /** No interval: those of all times lie nearer to zero. */
    private static final long NONE = Long.MIN_VALUE;

    private final long length;
    private final long retention;
    /** {@code null} if intervals do not know their keys. */
    private FilterTotal.Part filters;
    private final NavigableMap<Long, KeyFilter> known = new ConcurrentSkipListMap<>();
    private volatile long streamTime = ConsumerRecord.NO_TIMESTAMP;
    private volatile long expiredBefore = Long.MIN_VALUE;
    /** The interval of the last entry that was added, which needs no search. */
    private long added = NONE;

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

    /** Lets intervals that begin from now on know which keys they may have, in this memory. */
    void filter(final FilterTotal.Part memory) {
        filters = memory;
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

    /** Adds an interval that has entries with unknown keys. */
    void addUnknown(final long interval) {
        final KeyFilter before = known.put(interval, KeyFilter.EVERY_KEY);
        if (before != null) {
            before.end();
        }
    }

    /** Adds an interval for entries whose keys go to {@link #addKey}, if it is not there. */
    void add(final long interval) {
        if (interval != added) {
            added = interval;
            if (!known.containsKey(interval)) {
                known.put(interval,
                    filters == null ? KeyFilter.EVERY_KEY : KeyFilter.empty(filters));
            }
        }
    }

    /**
     * Notes the key of an entry before the entry is written.
     *
     * @return whether the interval certainly had no entry with this key
     */
    boolean addKey(final long interval, final Bytes key) {
        // No reader sees an entry of an earlier interval.
        return interval >= firstLive()
            && known.computeIfAbsent(interval, lost -> KeyFilter.EVERY_KEY).add(key);
    }

    /** Whether the interval has entries, as far as this set knows. */
    boolean has(final long interval) {
        return known.containsKey(interval);
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
        final NavigableMap<Long, KeyFilter> expired = known.headMap(live, false);
        final Long first = expired.isEmpty() ? null : expired.firstKey();
        expired.values().forEach(KeyFilter::end);
        expired.clear();
        added = NONE;
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
    List<Long> between(final long first, final long last) {
        return List.copyOf(known.subMap(first, true, last, true).keySet());
    }

    /** Those of some intervals that may have a key now. Expired ones have none. */
    List<Long> holding(final Bytes key, final List<Long> intervals) {
        final List<Long> holding = new ArrayList<>(intervals.size());
        for (final Long interval : intervals) {
            final KeyFilter filter = known.get(interval);
            if (filter != null && filter.mayHave(key)) {
                holding.add(interval);
            }
        }
        return holding;
    }

    /** Whether the interval {@code first} or a later one may have a key. */
    boolean mayHold(final long first, final Bytes key) {
        for (final KeyFilter filter : known.tailMap(first, true).values()) {
            if (filter.mayHave(key)) {
                return true;
            }
        }
        return false;
    }

    /** Forgets all intervals. */
    void clear() {
        known.values().forEach(KeyFilter::end);
        known.clear();
        added = NONE;
    }
}
