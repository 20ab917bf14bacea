package foldb.streams;

import foldb.streams.engine.Database;
import foldb.streams.engine.FoldbException;
import foldb.streams.engine.Statistics;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.Sensor.RecordingLevel;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;

/**
 * The metrics of a database in the registry of Streams, at the level of stores. A metric costs
 * nothing until it is read. Where the stock store has the same metric, the name is the same.
 */
final class StoreMetrics {
    /** How long one reading of the statistics serves all metrics, in nanoseconds. */
    private static final long FRESH_NANOS = 100_000_000L;

    private final List<MetricName> names = new ArrayList<>();
    private StreamsMetricsImpl registry;
    private Database database;
    private Statistics statistics;
    private long readAt;

    /** Adds the metrics of a store. */
    void register(final StateStoreContext context, final String store, final Database opened) {
        if (!(context.metrics() instanceof StreamsMetricsImpl metrics)) {
            return;
        }
        registry = metrics;
        database = opened;
        statistics = null;
        final Adder adder = new Adder(context.taskId().toString(), store);
        adder.add("gets-total", "Keys read from the database", Statistics::gets);
        adder.add("puts-total", "Values written to the database", Statistics::puts);
        adder.add("deletes-total", "Keys deleted from the database", Statistics::deletes);
        adder.add("merges-total", "Operands merged without a read", Statistics::merges);
        adder.add("bytes-written-total", "Bytes of keys and values written",
            Statistics::bytesUser);
        adder.add("log-bytes-written-total", "Bytes written to the log", Statistics::bytesLog);
        adder.add("memtable-bytes-flushed-total", "Bytes flushed from memtables to disk",
            Statistics::bytesFlushed);
        adder.add("bytes-written-compaction-total", "Bytes written during compaction",
            Statistics::bytesCompacted);
        adder.add("flushes-total", "Memtables flushed", Statistics::flushes);
        adder.add("compactions-total", "Compaction jobs finished", Statistics::compactions);
        adder.add("write-stall-duration-total", "Microseconds for which writes were stalled",
            Statistics::stallMicros);
        adder.add("block-cache-hits-total", "Blocks found in the cache", Statistics::cacheHits);
        adder.add("block-cache-misses-total", "Blocks read from files", Statistics::cacheMisses);
        adder.add("size-all-mem-tables", "Bytes of all memtables", Statistics::memtableBytes);
        adder.add("total-sst-files-size", "Bytes of all tables", Statistics::tableBytes);
        adder.add("estimate-pending-compaction-bytes", "Bytes that compactions must still read",
            Statistics::compactionDebt);
        adder.add("estimate-num-keys", "Estimated number of keys", (config, now) -> {
            try {
                return opened.approximateEntries();
            } catch (final FoldbException error) {
                return 0L;
            }
        });
    }

    /** Removes the metrics. */
    void remove() {
        names.forEach(name -> registry.removeMetric(name));
        names.clear();
    }

    /** Returns statistics that are fresh; those before the close for a closed database. */
    private synchronized Statistics fresh() {
        final long now = System.nanoTime();
        if (statistics == null || now - readAt > FRESH_NANOS) {
            try {
                statistics = database.statistics();
                readAt = now;
            } catch (final FoldbException error) {
                return statistics;
            }
        }
        return statistics;
    }

    /** Adds metrics of one store. */
    private final class Adder {
        private final String task;
        private final String store;

        Adder(final String task, final String store) {
            this.task = task;
            this.store = store;
        }

        void add(final String name, final String description,
                 final ToLongFunction<Statistics> value) {
            add(name, description, (config, now) -> {
                final Statistics fresh = fresh();
                return fresh == null ? 0L : value.applyAsLong(fresh);
            });
        }

        void add(final String name, final String description, final Gauge<Long> value) {
            names.add(registry.addStoreLevelMutableMetric(task, FoldbStore.METRICS_SCOPE, store,
                name, description, RecordingLevel.INFO, value));
        }
    }
}
