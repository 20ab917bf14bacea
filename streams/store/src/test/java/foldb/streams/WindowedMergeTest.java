package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.MergeScenario.Event;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs the same windowed topologies on stock stores and as merges. Outputs and changelogs have the
 * records of the stock store with its record cache, in the same order. Contents and dropped records
 * are those of the stock store without a cache.
 */
@KafkaConditions.NeedsMerges
class WindowedMergeTest extends ComparedMerges {
    private static final Grouped<String, Long> GROUPED =
        Grouped.with(Serdes.String(), Serdes.Long());
    private static final TimeWindows TUMBLING = TimeWindows.ofSizeAndGrace(
        Duration.ofSeconds(20), Duration.ofSeconds(50));
    private static final TimeWindows HOPPING = TUMBLING.advanceBy(Duration.ofSeconds(4));

    /** A windowed aggregation into the store {@code store}, and its operator. */
    enum Shape {
        TUMBLING_COUNT("sum", TUMBLING) {
            @Override
            KTable<Windowed<String>, Long> table(TimeWindowedKStream<String, Long> windowed) {
                return windowed.count(store());
            }
        },
        HOPPING_COUNT("sum", HOPPING) {
            @Override
            KTable<Windowed<String>, Long> table(TimeWindowedKStream<String, Long> windowed) {
                return windowed.count(store());
            }
        },
        HOPPING_SUM("sum", HOPPING) {
            @Override
            KTable<Windowed<String>, Long> table(TimeWindowedKStream<String, Long> windowed) {
                return windowed.reduce(Long::sum, store());
            }
        },
        TUMBLING_MAXIMUM("max", TimeWindows.ofSizeWithNoGrace(Duration.ofSeconds(5))) {
            @Override
            KTable<Windowed<String>, Long> table(TimeWindowedKStream<String, Long> windowed) {
                return windowed.aggregate(() -> Long.MIN_VALUE,
                    (key, value, greatest) -> Math.max(value, greatest), store());
            }
        },
        LONG_RETENTION("min", HOPPING) {
            @Override
            KTable<Windowed<String>, Long> table(TimeWindowedKStream<String, Long> windowed) {
                return windowed.reduce(Math::min, store().withRetention(Duration.ofHours(1)));
            }
        },
        WINDOWS_OF_WINDOWS("sum", TUMBLING) {
            // The following window drops as late what comes out of the order of time.
            @Override
            KTable<Windowed<String>, Long> table(TimeWindowedKStream<String, Long> windowed) {
                return windowed.count(store()).toStream()
                    .groupBy((window, count) -> window.key().substring(0, 1), GROUPED)
                    .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofSeconds(30)))
                    .count(Materialized.as("following"));
            }
        };

        private final String operator;
        private final TimeWindows windows;

        Shape(String operator, TimeWindows windows) {
            this.operator = operator;
            this.windows = windows;
        }

        abstract KTable<Windowed<String>, Long> table(TimeWindowedKStream<String, Long> windowed);

        void declare(KStream<String, Long> events) {
            write(table(events.groupByKey(GROUPED).windowedBy(windows)));
        }
    }

    private static Materialized<String, Long, WindowStore<Bytes, byte[]>> store() {
        return Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("store")
            .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long());
    }

    private static void write(KTable<Windowed<String>, Long> table) {
        table.toStream((window, value) -> window.toString())
            .to("output", Produced.with(Serdes.String(), Serdes.Long()));
    }

    /** Returns what several kinds of reads find, in their order. */
    private static List<String> contents(MergeScenario scenario, long now) {
        var store = scenario.driver().<String, Long>getTimestampedWindowStore("store");
        List<String> found = new ArrayList<>();
        note(found, store.all());
        note(found, store.backwardAll());
        note(found, store.fetch("a", "b", now - 40_000, now));
        for (String key : List.of("aab1", "ab2", "b3")) {
            try (var values = store.fetch(key, now - 60_000, now)) {
                values.forEachRemaining(value -> found.add(key + value));
            }
            found.add(key + store.fetch(key, now / 20_000 * 20_000));
        }
        return found;
    }

    private static void note(List<String> found,
            KeyValueIterator<Windowed<String>, ValueAndTimestamp<Long>> entries) {
        try (entries) {
            entries.forEachRemaining(entry -> found.add(entry.key + "=" + entry.value));
        }
    }

    @ParameterizedTest
    @EnumSource(Shape.class)
    void mergesEqualTheStockStores(Shape shape) {
        compare(shape, StreamsConfig.AT_LEAST_ONCE);
    }

    @ParameterizedTest
    @EnumSource(names = {"TUMBLING_COUNT", "HOPPING_SUM"})
    void mergesEqualTheStockStoresUnderExactlyOnce(Shape shape) {
        compare(shape, StreamsConfig.EXACTLY_ONCE_V2);
    }

    private void compare(Shape shape, String guarantee) {
        Random random = new Random(shape.ordinal() + 1);
        EventClock clock = new EventClock(random);
        try (MergeScenario stock = MergeScenario.start(stock(guarantee), shape::declare);
                MergeScenario cached = MergeScenario.start(cached(guarantee), shape::declare);
                MergeScenario merging =
                    MergeScenario.start(merging(guarantee, shape.operator), shape::declare)) {
            for (int commit = 0; commit < 25; commit++) {
                List<Event> batch = clock.draw(1 + random.nextInt(60));
                for (MergeScenario scenario : List.of(stock, cached, merging)) {
                    scenario.commit(batch);
                }
                if (commit % 3 == 0) {
                    assertEquals(contents(stock, clock.now()), contents(merging, clock.now()));
                }
            }
            List<String> log = merging.logged();
            assertTrue(log.size() > 150, "windows were logged: " + log.size());
            assertEquals(cached.logged(), log);
            assertEquals(MergeScenario.last(stock.logged()), MergeScenario.last(log));
            assertEquals(cached.output(), merging.output());
            assertEquals(log.size(), merging.metric("merge-fold-total"));
            assertTrue(merging.metric("merge-total") > log.size(), "several merges make one fold");
            assertEquals(cached.metric("dropped-records-total"),
                merging.metric("dropped-records-total"));
        }
    }

    @Test
    void aSuppressedTableStaysStock() {
        staysStock("a downstream operation needs old values", events ->
            write(events.groupByKey(GROUPED).windowedBy(HOPPING).count(store())
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))));
    }

    @Test
    void slidingWindowsStayStock() {
        staysStock("the records of a sliding window decide", events ->
            write(events.groupByKey(GROUPED)
                .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(
                    Duration.ofSeconds(3), Duration.ofSeconds(50)))
                .count(store())));
    }

    @Test
    void windowsThatEmitWhenTheyCloseStayStock() {
        staysStock("windows that emit when they close", events ->
            write(events.groupByKey(GROUPED).windowedBy(TUMBLING)
                .emitStrategy(EmitStrategy.onWindowClose()).count(store())));
    }

    @Test
    void cogroupedWindowsMergeIntoOneStore() {
        Consumer<KStream<String, Long>> topology = events -> {
            var odd = events.filter((key, value) -> value % 2 != 0).groupByKey(GROUPED);
            var even = events.filter((key, value) -> value % 2 == 0).groupByKey(GROUPED);
            write(odd.<Long>cogroup((key, value, sum) -> sum + value)
                .cogroup(even, (key, value, sum) -> sum + 2 * value)
                .windowedBy(HOPPING)
                // With the shortest retention, windows of one stream expire by the other's time.
                .aggregate(() -> 0L, store().withRetention(Duration.ofHours(1))));
        };
        try (MergeScenario stock =
                    MergeScenario.start(stock(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            commitAll(10, stock, merging);
            assertTrue(merging.metric("merge-total") > 0);
            assertEquals(MergeScenario.last(stock.output()), MergeScenario.last(merging.output()));
        }
    }

    @Test
    void aStoreOfWindowsFoldsEarlyAtItsBound() {
        Properties properties = merging(StreamsConfig.AT_LEAST_ONCE, "sum");
        properties.put("foldb.dirty.keys.max", "7");
        Consumer<KStream<String, Long>> topology = Shape.HOPPING_COUNT::declare;
        try (MergeScenario stock =
                    MergeScenario.start(stock(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario cached =
                    MergeScenario.start(cached(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(properties, topology)) {
            commitAll(10, stock, cached, merging);
            List<String> logged = merging.logged();
            assertTrue(logged.size() > cached.logged().size() * 5 / 4, "early folds log");
            assertEquals(MergeScenario.last(stock.logged()), MergeScenario.last(logged));
        }
    }

    @Test
    void aWindowThatExpiresBeforeTheCommitIsStillLoggedAndForwarded() {
        List<Event> batch = List.of(new Event("old", 1L, 1000), new Event("old", 1L, 2000),
            new Event("new", 1L, 1_000_000_000), new Event("old", 1L, 3000));
        Consumer<KStream<String, Long>> topology = Shape.TUMBLING_COUNT::declare;
        try (MergeScenario cached =
                    MergeScenario.start(cached(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            cached.commit(batch);
            merging.commit(batch);
            assertEquals(cached.logged(), merging.logged());
            List<String> output = merging.output();
            assertEquals(cached.output(), output);
            assertEquals("[old@0/20000]=2 at 2000", output.get(0));
            assertEquals(1, merging.metric("dropped-records-total"), "the last is late");
            try (var all = merging.driver().getTimestampedWindowStore("store").all()) {
                assertEquals("new", ((Windowed<?>) all.next().key).key());
                assertTrue(!all.hasNext(), "the old window has expired");
            }
        }
    }

    @Test
    void aBadOperandFailsAtItsOwnRecord() {
        try (MergeScenario merging = MergeScenario.startWith(
                merging(StreamsConfig.AT_LEAST_ONCE, "sum"), builder ->
                builder.stream("text", Consumed.with(Serdes.String(), Serdes.String()))
                    .groupByKey().windowedBy(TUMBLING)
                    .reduce((one, two) -> one + two, Materialized.as("store")))) {
            var topic = merging.driver().createInputTopic("text",
                Serdes.String().serializer(), Serdes.String().serializer());
            Throwable error =
                assertThrows(StreamsException.class, () -> topic.pipeInput("key", "abc"));
            String message = error + " " + error.getCause();
            assertTrue(message.contains("store store has 3 bytes"), message);
        }
    }

    @Test
    void joinsReadFoldedWindowsBetweenCommits() {
        Consumer<KStream<String, Long>> topology = events -> {
            events.groupByKey(GROUPED).windowedBy(HOPPING).count(store());
            events.process(new Reader(), "store")
                .to("output", Produced.with(Serdes.String(), Serdes.Long()));
        };
        try (MergeScenario stock =
                    MergeScenario.start(stock(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            commitAll(10, stock, merging);
            List<String> output = merging.output();
            assertEquals(stock.output(), output);
        }
    }

    /** Forwards the values of the windows of each record's key. */
    private static final class Reader
        implements ProcessorSupplier<String, Long, String, Long> {
        @Override
        public Processor<String, Long, String, Long> get() {
            return new ContextualProcessor<>() {
                @Override
                public void process(Record<String, Long> record) {
                    TimestampedWindowStore<String, Long> store =
                        context().getStateStore("store");
                    long time = record.timestamp();
                    try (var windows = store.fetch(record.key(), time - 20_000, time)) {
                        windows.forEachRemaining(window -> context().forward(
                            record.withValue(window.value.value())));
                    }
                }
            };
        }
    }
}
