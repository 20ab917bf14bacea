package foldb.streams;

import foldb.streams.engine.Cursor;
import foldb.streams.engine.Database;
import foldb.streams.engine.FoldbException;
import foldb.streams.engine.KeyRange;
import foldb.streams.engine.WriteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.LongFunction;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.metrics.TaskMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What window and session stores have in common: entries with a time, kept in intervals.
 *
 * <p>The store keeps its entries by key. A store for results that leave when their window closes
 * keeps a second, empty entry by time for each of them, which an iterator by time looks up.
 *
 * <p>An entry expires with its interval: one range delete removes all intervals that the stream
 * time has left behind. Between two such deletes, reads leave out what the retention period has
 * passed. Entries that arrive after their interval expired are dropped and counted. A store that
 * merges deletes expired intervals after its folds only, because a fold still logs their values.
 */
abstract class IntervalStore extends FoldbStore {
    private static final Logger LOG = LoggerFactory.getLogger(IntervalStore.class);
    private static final int RESTORE_BYTES = 4 << 20;

    /** The keys that the filters of the intervals have. */
    enum Filtered {
        /** None: every key may be there. */
        NOTHING,
        /** The keys of the entries. */
        KEYS,
        /** The stored keys of the entries. */
        STORED_KEYS
    }

    private final KeyLayout layout;
    private final boolean indexed;
    private final Filtered filtered;
    private final Intervals intervals;
    private InternalProcessorContext<?, ?> processor;
    private Sensor droppedRecords;

    /**
     * Creates a closed store.
     *
     * @param retention how long entries stay readable, in milliseconds of stream time
     * @param interval the length of an interval in milliseconds
     * @param indexed whether the store can also iterate by time
     * @param filtered what the filters have
     */
    IntervalStore(
            final String name,
            final KeyLayout layout,
            final long retention,
            final long interval,
            final boolean indexed,
            final Filtered filtered) {
        super(name);
        this.layout = layout;
        this.indexed = indexed;
        this.filtered = filtered;
        this.intervals = new Intervals(interval, retention);
    }

    @Override
    public void init(final StateStoreContext context, final StateStore root) {
        processor = ProcessorContextUtils.asInternalProcessorContext(context);
        droppedRecords = TaskMetrics.droppedRecordsSensor(
            Thread.currentThread().getName(),
            context.taskId().toString(),
            ProcessorContextUtils.metricsImpl(context));
        if (filtered != Filtered.NOTHING) {
            final FilterTotal total = FilterTotal.of(FoldbConfig.memoryBytes(context.appConfigs()));
            final long bound = MergeConfig.of(context.appConfigs()).maxFilterBytes();
            intervals.filter(total.join(bound, this::reserveFilters));
        }
        super.init(context, root);
    }

    @Override
    public synchronized void close() {
        try {
            super.close();
        } finally {
            intervals.clear();
        }
    }

    @Override
    void opened(final Database database) {
        intervals.clear();
        try {
            findIntervals(database);
        } catch (final FoldbException error) {
            throw failed("Error opening", error);
        }
    }

    private void findIntervals(final Database database) {
        byte[] from = null;
        while (true) {
            try (Cursor cursor = database.cursor(false, new KeyRange(from, null))) {
                if (!cursor.next()) {
                    return;
                }
                final long interval = KeyLayout.interval(cursor.key());
                intervals.addUnknown(interval);
                from = KeyLayout.start(interval + 1);
            }
        }
    }

    /** Whether the store can iterate by time. */
    final boolean isIndexed() {
        return indexed;
    }

    final Intervals intervals() {
        return intervals;
    }

    /** The earliest time of an entry that a reader may see, in milliseconds. */
    abstract long firstReadable();

    /** Writes an entry, or removes it if the value is null, or drops it if it is too late. */
    final void write(final TimedKey key, final byte[] value) {
        final Database database = database();
        if (!admits(key)) {
            return;
        }
        try {
            if (!takesMerges()) {
                expire(database);
            }
            synchronized (getPosition()) {
                store(database, intervals.of(key.time()), key, value);
                updatePosition();
            }
        } catch (final FoldbException error) {
            throw failed("Error while putting key/value into", error);
        }
    }

    /** Whether an entry is not too late. A late one is counted as dropped. */
    final boolean admits(final TimedKey key) {
        Objects.requireNonNull(key.key(), "key cannot be null");
        intervals.observe(key.time());
        final long interval = intervals.of(key.time());
        if (interval < intervals.firstLive()) {
            droppedRecords.record(1.0d, processor.currentSystemTimeMs());
            if (indexed) {
                LOG.warn("Skipping record for expired segment.");
            }
            return false;
        }
        intervals.add(interval);
        return true;
    }

    /** The stored key of an entry, in the order by key. */
    final byte[] encode(final TimedKey key) {
        return layout.encode(KeyOrder.BY_KEY, intervals.of(key.time()), key);
    }

    /** Writes folded values, except those that have expired meanwhile. */
    final void writeFolded(final List<KeyValue<Bytes, byte[]>> entries) {
        final WriteBuffer batch = new WriteBuffer();
        for (final KeyValue<Bytes, byte[]> entry : entries) {
            final byte[] stored = entry.key.get();
            if (KeyLayout.interval(stored) >= intervals.firstLive()) {
                batch.put(stored, entry.value);
            }
        }
        try {
            if (batch.size() > 0) {
                database().write(batch);
            }
        } catch (final FoldbException error) {
            throw failed("Error while putting folded values into", error);
        }
    }

    /**
     * Writes changes that {@link #admits} let in, even if they have expired meanwhile.
     *
     * @param changes of entries that {@link #note} was called for
     */
    final void writeChanges(final WriteBuffer changes) {
        try {
            database().write(changes);
        } catch (final FoldbException error) {
            throw failed("Error while putting key/value into", error);
        }
    }

    /** Deletes the intervals that the stream time has left behind. */
    final void expire() {
        try {
            expire(database());
        } catch (final FoldbException error) {
            throw failed("Error while expiring entries of", error);
        }
    }

    /** Removes an entry. The position of the store stays. */
    final void erase(final TimedKey key) {
        Objects.requireNonNull(key.key(), "key cannot be null");
        final Database database = database();
        intervals.observe(key.time());
        final long interval = intervals.of(key.time());
        if (intervals.has(interval)) {
            try {
                store(database, interval, key, null);
            } catch (final FoldbException error) {
                throw failed("Error while removing key from", error);
            }
        }
    }

    /** The value of an entry, or null if there is none or it has expired. */
    final byte[] read(final TimedKey key) {
        Objects.requireNonNull(key.key(), "key cannot be null");
        checkOpen();
        if (key.time() < firstReadable()) {
            return null;
        }
        try {
            return look(key);
        } catch (final FoldbException error) {
            throw failed("Error while getting value for key from", error);
        }
    }

    /**
     * Entries with these keys and times, and maybe others between them.
     *
     * @param forward whether the entries come in ascending order
     * @param keyFrom the smallest key, or null
     * @param keyTo the largest key, or null
     * @param timeFrom the earliest time
     * @param timeTo the latest time
     */
    final TimedEntries entries(
            final KeyOrder order,
            final boolean forward,
            final Bytes keyFrom,
            final Bytes keyTo,
            final long timeFrom,
            final long timeTo) {
        final Database database = database();
        final List<Long> present =
            intervals.between(intervals.of(timeFrom), intervals.of(timeTo));
        final LongFunction<KeyRange> range = interval -> KeyLayout.range(
            order,
            interval,
            keyFrom,
            keyTo,
            timeFrom,
            Math.min(timeTo, intervals.lastTime(interval)));
        final Bytes only = keyFrom != null && keyFrom.equals(keyTo) ? keyFrom : null;
        return new StoredEntries(this, order, () -> open(database, present, only, range, !forward));
    }

    /**
     * Opens a cursor over ranges of intervals.
     *
     * @param only the only key of the ranges, or null
     * @return the cursor, or null if there are no entries
     */
    private Cursor open(final Database database, final List<Long> present, final Bytes only,
            final LongFunction<KeyRange> range, final boolean reverse) {
        List<Long> asked = holding(only, present);
        while (!asked.isEmpty()) {
            final KeyRange[] ranges =
                asked.stream().mapToLong(Long::longValue).mapToObj(range).toArray(KeyRange[]::new);
            final Cursor cursor = database.cursor(reverse, ranges);
            // A session may have moved from one interval to another since the question. The keys
            // of all entries that the cursor sees are there by now.
            final List<Long> holding = holding(only, present);
            if (holding.equals(asked)) {
                return cursor;
            }
            cursor.close();
            asked = holding;
        }
        return null;
    }

    private List<Long> holding(final Bytes only, final List<Long> present) {
        return only == null || filtered != Filtered.KEYS
            ? present : intervals.holding(only, present);
    }

    /** Reads the key of an entry, or returns null if its interval has expired. */
    final TimedKey decode(final KeyOrder order, final byte[] stored) {
        return intervals.isExpired(KeyLayout.interval(stored))
            ? null
            : layout.decode(order, stored);
    }

    /** The value of an entry at this moment, or null. */
    final byte[] look(final TimedKey key) {
        return database().get(encode(key));
    }

    /** Accepts the entries with these keys, where null stands for no bound. */
    static Predicate<TimedKey> keys(final Bytes keyFrom, final Bytes keyTo) {
        return entry -> (keyFrom == null || entry.key().compareTo(keyFrom) >= 0)
            && (keyTo == null || entry.key().compareTo(keyTo) <= 0);
    }

    /** Whether a range of keys is the wrong way round. Then the log says so. */
    static boolean isReversed(final Bytes keyFrom, final Bytes keyTo) {
        if (keyFrom == null || keyTo == null || keyFrom.compareTo(keyTo) <= 0) {
            return false;
        }
        LOG.warn("Returning empty iterator for fetch with invalid key range: from > to. "
            + "This may be due to range arguments set in the wrong order, "
            + "or serdes that don't preserve ordering when lexicographically comparing the "
            + "serialized bytes. "
            + "Note that the built-in numerical serdes do not follow this for negative numbers");
        return true;
    }

    @Override
    final void restore(final Collection<ConsumerRecord<byte[], byte[]>> records) {
        for (final ConsumerRecord<byte[], byte[]> record : records) {
            intervals.observe(layout.changelogTime(record.key()));
        }
        final Database database = database();
        final WriteBuffer batch = new WriteBuffer();
        try {
            for (final ConsumerRecord<byte[], byte[]> record : records) {
                final TimedKey key = layout.decodeChangelog(record.key());
                final long interval = intervals.of(key.time());
                if (interval < intervals.firstLive()) {
                    continue;
                }
                intervals.addUnknown(interval);
                expire(database);
                updatePosition(record);
                fill(batch, interval, key, record.value());
                if (batch.byteSize() >= RESTORE_BYTES) {
                    database.write(batch);
                    batch.clear();
                }
            }
            database.write(batch);
        } catch (final FoldbException error) {
            throw failed("Error restoring batch to", error);
        }
    }

    /** Puts or deletes one entry, in both orders at once if the store has both. */
    private void store(
            final Database database, final long interval, final TimedKey key, final byte[] value) {
        note(key, value);
        if (indexed) {
            final WriteBuffer both = new WriteBuffer();
            fill(both, interval, key, value);
            database.write(both);
        } else {
            database.put(layout.encode(KeyOrder.BY_KEY, interval, key), value);
        }
    }

    /** Notes the key of an entry that is about to be put; {@code null} deletes the entry. */
    final void note(final TimedKey key, final byte[] value) {
        if (value == null) {
            return;
        }
        switch (filtered) {
            case KEYS -> intervals.addKey(intervals.of(key.time()), key.key());
            case STORED_KEYS -> noteStored(Bytes.wrap(encode(key)));
            case NOTHING -> { }
        }
    }

    @Override
    final boolean noteStored(final Bytes stored) {
        return filtered == Filtered.STORED_KEYS
            && intervals.addKey(KeyLayout.interval(stored.get()), stored);
    }

    /** Adds a put or a delete of one entry to a batch. */
    private void fill(
            final WriteBuffer batch, final long interval, final TimedKey key, final byte[] value) {
        batch.put(layout.encode(KeyOrder.BY_KEY, interval, key), value);
        if (indexed) {
            final byte[] listed = value == null ? null : new byte[0];
            batch.put(layout.encode(KeyOrder.BY_TIME, interval, key), listed);
        }
    }

    private void expire(final Database database) {
        final Long first = intervals.expire();
        if (first != null) {
            final byte[] end = KeyLayout.start(intervals.firstLive());
            database.deleteRange(KeyLayout.start(first), end);
        }
    }
}
