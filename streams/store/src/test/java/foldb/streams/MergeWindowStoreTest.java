package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.internals.WrappedStateStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Window merge stores of the Processor API, with restores, reopens and a topology. */
class MergeWindowStoreTest {
    private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);
    private static final Duration SIZE = Duration.ofSeconds(10);
    private static final Duration RETENTION = Duration.ofMinutes(10);

    @TempDir
    Path directory;

    private static StoreBuilder<MergeWindowStore<String, Long>> builder(String operator) {
        return FoldbStores.mergeWindowStoreBuilder(
            "store", operator, RETENTION, SIZE, Serdes.String(), Serdes.Long());
    }

    private LoggingContext context(String task, String guarantee) {
        return new LoggingContext(directory.resolve(task),
            Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee));
    }

    private static MergeWindowStore<String, Long> open(LoggingContext context) {
        MergeWindowStore<String, Long> store = builder("sum").build();
        store.init(context.context(), store);
        return store;
    }

    private static void flush(MergeWindowStore<String, Long> store) {
        ((WrappedStateStore<?, ?, ?>) store).flushCache();
    }

    private static Map<String, Long> all(MergeWindowStore<String, Long> store) {
        Map<String, Long> all = new TreeMap<>();
        try (KeyValueIterator<Windowed<String>, Long> entries = store.all()) {
            entries.forEachRemaining(entry -> all.put(entry.key.toString(), entry.value));
        }
        return all;
    }

    private static String window(String key, long start) {
        return "[" + key + "@" + start + "/" + (start + SIZE.toMillis()) + "]";
    }

    private static void mergeSome(LoggingContext context, MergeWindowStore<String, Long> store,
            Random random, Map<String, Long> model) {
        for (int i = 0; i < 300; i++) {
            context.next(i, 1000 + random.nextInt(100));
            String key = "key".substring(random.nextInt(3)) + random.nextInt(5);
            long start = random.nextInt(30) * 10_000L;
            switch (random.nextInt(12)) {
                case 0 -> {
                    store.put(key, null, start);
                    model.remove(window(key, start));
                }
                case 1 -> {
                    store.put(key, 7L, start);
                    model.put(window(key, start), 7L);
                }
                default -> {
                    long operand = random.nextInt(100);
                    store.merge(key, operand, Set.of(start, start + 10_000));
                    model.merge(window(key, start), operand, Long::sum);
                    model.merge(window(key, start + 10_000), operand, Long::sum);
                }
            }
            if (random.nextInt(40) == 0) {
                flush(store);
            }
            if (random.nextInt(10) == 0) {
                assertEquals(model.get(window(key, start)), store.fetch(key, start));
            }
        }
        flush(store);
    }

    @ParameterizedTest
    @ValueSource(strings = {StreamsConfig.AT_LEAST_ONCE, StreamsConfig.EXACTLY_ONCE_V2})
    void aStoreRestoresFromTheChangelogAndMergesOn(String guarantee) {
        Random random = new Random(1);
        Map<String, Long> model = new TreeMap<>();
        LoggingContext first = context("first", guarantee);
        MergeWindowStore<String, Long> store = open(first);
        mergeSome(first, store, random, model);
        assertEquals(model, all(store));
        store.close();

        LoggingContext second = context("second", guarantee);
        MergeWindowStore<String, Long> restored = open(second);
        second.restore(first.log());
        assertEquals(model, all(restored));
        assertEquals(0, second.log().size(), "a restore logs nothing");
        mergeSome(second, restored, random, model);
        assertEquals(model, all(restored));
        restored.close();
    }

    @Test
    @NeedsOffsetsInStores
    void mergesStayAcrossReopensAndFoldOnce() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        MergeWindowStore<String, Long> store = open(context);
        context.next(7, 1234);
        store.merge("a", 5L, 20_000);
        store.merge("a", 6L, 20_000);
        flush(store);
        flush(store);
        assertEquals(1, context.log().size(), "the second flush finds nothing to fold");
        assertEquals(1234, context.log().get(0).timestamp());
        store.commit(Map.of(CHANGELOG, 1L));
        store.close();
        MergeWindowStore<String, Long> again = open(context);
        assertEquals(ValueAndTimestamp.make(11L, 1234), again.fetchWithTimestamp("a", 20_000));
        assertEquals(1L, again.committedOffset(CHANGELOG));
        assertEquals(Position.emptyPosition().withComponent("input", 0, 7), again.getPosition());
        again.close();
    }

    @Test
    @NeedsOffsetsInStores
    void underExactlyOnceAMergeForgetsTheStoredOffset() {
        LoggingContext context = context("task", StreamsConfig.EXACTLY_ONCE_V2);
        MergeWindowStore<String, Long> store = open(context);
        context.next(7, 1000);
        store.commit(Map.of(CHANGELOG, 1L));
        store.merge("a", 5L, 20_000);
        assertEquals(5L, store.fetch("a", 20_000));
        assertNull(store.committedOffset(CHANGELOG));
        store.close();
    }

    @Test
    void aMergeIntoAnExpiredWindowIsDroppedAndCounted() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        MergeWindowStore<String, Long> store = open(context);
        context.next(1, 1000);
        store.merge("a", 1L, 10_000_000);
        store.merge("a", 1L, 20_000);
        flush(store);
        assertEquals(1, context.log().size());
        assertEquals(Map.of(window("a", 10_000_000), 1L), all(store));
        assertNull(store.fetch("a", 20_000));
        assertEquals(1, context.metric("dropped-records-total"));
        store.close();
    }

    @Test
    void aStoreWithoutMergesBeginsToMergeAndStops() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        context.next(1, 1000);
        StoreBuilder<TimestampedWindowStore<String, Long>> plain =
            Stores.timestampedWindowStoreBuilder(
                FoldbStores.timestampedWindowStore("store", RETENTION, SIZE, false),
                Serdes.String(), Serdes.Long()).withCachingDisabled();
        TimestampedWindowStore<String, Long> before = plain.build();
        before.init(context.context(), before);
        before.put("a", ValueAndTimestamp.make(5L, 900), 20_000);
        before.close();
        MergeWindowStore<String, Long> merging = open(context);
        merging.merge("a", 6L, List.of(20_000L, 30_000L), 800);
        assertEquals(ValueAndTimestamp.make(11L, 900), merging.fetchWithTimestamp("a", 20_000));
        flush(merging);
        merging.close();
        TimestampedWindowStore<String, Long> after = plain.build();
        after.init(context.context(), after);
        assertEquals(ValueAndTimestamp.make(11L, 900), after.fetch("a", 20_000));
        assertEquals(ValueAndTimestamp.make(6L, 800), after.fetch("a", 30_000));
        after.close();
    }

    @Test
    void nullsAndBadOperandsAreRefusedAtTheirOwnCall() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        context.next(1, 1000);
        MergeWindowStore<String, Long> store = open(context);
        assertThrows(NullPointerException.class, () -> store.merge(null, 1L, 0));
        assertThrows(NullPointerException.class, () -> store.merge("a", null, 0));
        store.close();
        MergeWindowStore<String, byte[]> sets = FoldbStores.mergeWindowStoreBuilder("sets", "set",
            RETENTION, SIZE, Serdes.String(), Serdes.ByteArray()).build();
        sets.init(context.context(), sets);
        sets.merge("a", SetOperands.add(new byte[] {1}), 0);
        assertThrows(StreamsException.class, () -> sets.merge("a", new byte[] {99}, 0));
        assertEquals(1, SetOperands.members(sets.fetch("a", 0)).size(), "the good one stays");
        sets.close();
        assertThrows(ConfigException.class, () -> builder("product"));
        assertThrows(IllegalArgumentException.class, () -> FoldbStores.mergeWindowStoreBuilder(
            "store", "sum", SIZE, RETENTION, Serdes.String(), Serdes.Long()));
    }

    @Test
    void aProcessorMergesIntoTheWindowsOfEachRecord() {
        TimeWindows windows = TimeWindows.ofSizeWithNoGrace(SIZE)
            .advanceBy(Duration.ofSeconds(2));
        ProcessorSupplier<String, Long, String, Long> counter = new ProcessorSupplier<>() {
            @Override
            public Processor<String, Long, String, Long> get() {
                return new Counter(windows);
            }

            @Override
            public Set<StoreBuilder<?>> stores() {
                return Set.of(builder("sum"));
            }
        };
        try (MergeScenario scenario = MergeScenario.start(
                MergeScenario.merging(directory, StreamsConfig.AT_LEAST_ONCE),
                events -> events.process(counter))) {
            scenario.commit(List.of(new MergeScenario.Event("a", 1L, 20_000),
                new MergeScenario.Event("a", 1L, 21_000),
                new MergeScenario.Event("b", 1L, 23_000)));
            @SuppressWarnings("unchecked")
            var store = (MergeWindowStore<String, Long>)
                scenario.driver().getAllStateStores().get("store");
            assertEquals(2L, store.fetch("a", 20_000));
            assertEquals(2L, store.fetch("a", 12_000));
            assertNull(store.fetch("a", 22_000));
            try (var fetched = store.fetch("b", Instant.EPOCH, Instant.ofEpochMilli(100_000))) {
                assertEquals(14_000L, fetched.next().key);
            }
            assertEquals(15, scenario.metric("merge-total"));
            assertEquals(10, scenario.metric("merge-fold-total"));
        }
    }

    /** Counts the records of each window. */
    private static final class Counter
        extends ContextualProcessor<String, Long, String, Long> {
        private final TimeWindows windows;

        Counter(TimeWindows windows) {
            this.windows = windows;
        }

        @Override
        public void process(Record<String, Long> record) {
            MergeWindowStore<String, Long> counts = context().getStateStore("store");
            counts.merge(record.key(), 1L, windows.windowsFor(record.timestamp()).keySet());
        }
    }
}
