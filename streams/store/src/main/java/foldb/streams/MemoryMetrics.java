package foldb.streams;

import foldb.streams.engine.Memory;
import java.util.function.ToLongFunction;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Sensor.RecordingLevel;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;

/**
 * The memory of all stores of the process that share one budget, in the registry of Streams at the
 * level of clients. The first store of a client adds the metrics. Streams removes them when the
 * client closes.
 */
final class MemoryMetrics {
    private static final String PREFIX = "foldb-memory-";
    private static final String GROUP = "stream-metrics";

    private final StreamsMetricsImpl registry;
    private final long budget;

    private MemoryMetrics(final StreamsMetricsImpl registry, final long budget) {
        this.registry = registry;
        this.budget = budget;
    }

    /**
     * Adds the metrics to a client that lacks them.
     *
     * @param budget the memory of the client's stores, in bytes
     */
    static void register(final StateStoreContext context, final long budget) {
        if (context.metrics() instanceof StreamsMetricsImpl registry) {
            // Threads of one client open their stores at the same time.
            synchronized (registry) {
                new MemoryMetrics(registry, budget).addAll();
            }
        }
    }

    private void addAll() {
        final MetricName first = registry.metricsRegistry().metricName(
            PREFIX + "budget", GROUP, "", registry.clientLevelTagMap());
        if (registry.metrics().containsKey(first)) {
            return;
        }
        registry.addClientLevelMutableMetric(PREFIX + "budget",
            "Bytes that all stores of the process may use", RecordingLevel.INFO,
            (config, now) -> budget);
        final FilterTotal filters = FilterTotal.of(budget);
        add("total", "Bytes that all stores of the process use", Memory::total);
        add("memtables", "Bytes of write buffers", Memory::memtables);
        add("dirty-keys", "Bytes of keys that merging stores have not folded",
            memory -> Math.max(0, memory.reserved() - filters.bytes()));
        add("key-filters", "Bytes of filters of the keys of intervals",
            memory -> filters.bytes());
        add("block-cache", "Bytes of cached blocks", Memory::blockCache);
        add("tables", "Bytes of indexes and filters of open tables", Memory::tables);
        add("background", "Bytes of flushes and compactions in progress", Memory::background);
        add("logs", "Bytes of the windows through which logs are written", Memory::logs);
    }

    private void add(
            final String name, final String description, final ToLongFunction<Memory> value) {
        registry.addClientLevelMutableMetric(PREFIX + name, description, RecordingLevel.INFO,
            (config, now) -> value.applyAsLong(Memory.of(budget)));
    }
}
