package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.MergeScenario.Event;
import foldb.streams.engine.Memory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The memory of a process, in one budget and in the metrics of Streams. */
class MemoryBudgetTest {
    /** No other test has this budget, so no other store is in it. */
    private static final long BUDGET = 21L << 20;

    /** Few keys: each holds the input record that it comes from. */
    private static final int KEYS = 200;

    private static final List<String> PARTS = List.of(
        "memtables", "dirty-keys", "key-filters", "block-cache", "tables", "background", "logs");

    @TempDir
    Path directory;

    /** Reads a metric that exists once. */
    private static long metric(final MergeScenario scenario, final String name) {
        final List<? extends Metric> found = scenario.driver().metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals(name)).toList();
        assertEquals(1, found.size(), name);
        return ((Number) found.get(0).metricValue()).longValue();
    }

    private static long memory(final MergeScenario scenario, final String name) {
        return metric(scenario, "foldb-memory-" + name);
    }

    /** Merges each event into a store, which no commit folds: no listener asks for that. */
    private MergeScenario start(final Properties more) {
        final Properties properties =
            MergeScenario.merging(directory, StreamsConfig.AT_LEAST_ONCE);
        properties.put(FoldbConfig.MEMORY_BYTES, BUDGET);
        properties.putAll(more);
        return MergeScenario.startWith(properties, builder -> {
            builder.addStateStore(FoldbStores.mergeStoreBuilder(
                "sums", "sum", Serdes.String(), Serdes.Long()));
            MergeScenario.events(builder).process(() -> new Processor<String, Long, Void, Void>() {
                private MergeStore<String, Long> store;
                private ProcessorContext<Void, Void> context;

                @Override
                public void init(final ProcessorContext<Void, Void> given) {
                    context = given;
                    store = given.getStateStore("sums");
                }

                @Override
                public void process(final Record<String, Long> record) {
                    store.merge(record.key(), record.value(), record.timestamp());
                    if (record.value() == 0) {
                        seen.add(metrics(context));
                    }
                }
            }, "sums");
        });
    }

    /** What the metrics said between two commits. */
    private final List<Map<String, Long>> seen = new ArrayList<>();

    private static Map<String, Long> metrics(final ProcessorContext<?, ?> context) {
        final Map<String, Long> values = new java.util.HashMap<>();
        context.metrics().metrics().forEach((name, metric) -> {
            if (metric.metricValue() instanceof Number number) {
                values.put(name.name(), number.longValue());
            }
        });
        return values;
    }

    private static List<Event> events(final int count) {
        final List<Event> events = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            events.add(new Event("a key of some length " + i, (long) (count - i), i));
        }
        return events;
    }

    @Test
    void theMetricsOfTheBudgetAddUp() {
        try (MergeScenario scenario = start(new Properties())) {
            scenario.commit(events(KEYS));
            final Map<String, Long> between = seen.get(0);
            assertEquals(BUDGET, between.get("foldb-memory-budget"));
            assertEquals(KEYS, between.get("merge-dirty-keys"));
            assertTrue(between.get("merge-dirty-bytes") > KEYS * 200, between.toString());
            // Each store may have a little more than it has told.
            final long told = between.get("foldb-memory-dirty-keys");
            assertTrue(told > 0 && between.get("merge-dirty-bytes") - told
                < DirtyTotal.STEP_BYTES, between.toString());
            final long sum = PARTS.stream()
                .mapToLong(part -> between.get("foldb-memory-" + part)).sum();
            assertTrue(sum > told && sum <= BUDGET, between.toString());
            assertEquals(0, metric(scenario, "merge-dirty-keys"));
            assertEquals(0, metric(scenario, "merge-dirty-bytes"));
            assertEquals(0, memory(scenario, "dirty-keys"));
            assertEquals(0, metric(scenario, "merge-early-fold-total"));
            assertEquals(KEYS, metric(scenario, "merge-fold-total"));
            assertTrue(memory(scenario, "total") > 0);
        }
        assertEquals(new Memory(0, 0, 0, 0, 0, 0, 0), Memory.of(BUDGET));
    }

    /** The filters of many stores took memory that nothing bounded or counted. */
    @Test
    void filtersOfKeysCountInTheBudgetWhileTheirStoreIsOpen() {
        final long before = FilterTotal.of(BUDGET).bytes();
        final Properties properties =
            MergeScenario.merging(directory, StreamsConfig.AT_LEAST_ONCE);
        properties.put(FoldbConfig.MEMORY_BYTES, BUDGET);
        try (MergeScenario scenario = MergeScenario.start(properties, events ->
                events.groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
                    .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofMillis(1)))
                    .count(Materialized.as("sessions")))) {
            scenario.commit(events(KEYS));
            final long filters = memory(scenario, "key-filters");
            assertEquals(FilterTotal.of(BUDGET).bytes(), filters);
            assertTrue(filters > before && filters <= BUDGET / 8, filters + " bytes");
            assertEquals(filters - before, Memory.of(BUDGET).reserved());
        }
        assertEquals(before, FilterTotal.of(BUDGET).bytes());
        assertEquals(0, Memory.of(BUDGET).reserved());
    }

    @Test
    void keysBeyondTheirPartOfTheBudgetFoldEarly() {
        final Properties little = new Properties();
        little.put(FoldbConfig.MAX_TOTAL_DIRTY_BYTES, 1 << 20);
        try (MergeScenario scenario = start(little)) {
            scenario.commit(events(2_000));
            assertTrue(seen.get(0).get("foldb-memory-dirty-keys") < 1 << 20, seen.toString());
            assertTrue(metric(scenario, "merge-early-fold-total") > 0);
            assertEquals(2_000, metric(scenario, "merge-fold-total"));
        }
    }

    @Test
    void theDirtyKeysAreAPartOfTheBudget() {
        final MergeConfig config = MergeConfig.of(Map.of(FoldbConfig.MEMORY_BYTES, BUDGET));
        assertEquals(BUDGET / 4, config.maxTotalBytes());
        final ConfigException error = assertThrows(ConfigException.class, () -> MergeConfig.of(
            Map.of(FoldbConfig.MEMORY_BYTES, BUDGET, FoldbConfig.MAX_TOTAL_DIRTY_BYTES, BUDGET)));
        assertTrue(error.getMessage().contains("three eighths of foldb.memory.bytes"),
            error.getMessage());
    }
}
