package foldb.streams;

import static foldb.streams.MergeScenario.changelog;
import static foldb.streams.MergeScenario.compacted;
import static foldb.streams.MergeScenario.draw;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.MergeScenario.Event;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;

/** Runs the same topologies on stock stores and as merges, and compares all that comes out. */
@KafkaConditions.NeedsMerges
class MergingProcessorWrapperTest extends ComparedMerges {
    private static final String ALOS = StreamsConfig.AT_LEAST_ONCE;
    private static final String EOS = StreamsConfig.EXACTLY_ONCE_V2;
    private static final Grouped<String, Long> GROUPED =
        Grouped.with(Serdes.String(), Serdes.Long());

    private static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> as(String store) {
        return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(store)
            .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long());
    }

    private static void write(KTable<String, Long> table) {
        table.toStream().to("output", Produced.with(Serdes.String(), Serdes.Long()));
    }

    private static void count(KStream<String, Long> events) {
        write(events.groupByKey(GROUPED).count(as("store")));
    }

    private static void reduce(KStream<String, Long> events) {
        write(events.groupByKey(GROUPED).reduce(Long::sum, as("store")));
    }

    private static void aggregate(KStream<String, Long> events) {
        write(events.groupByKey(GROUPED).aggregate(() -> Long.MIN_VALUE,
            (key, value, greatest) -> Math.max(value, greatest), as("store")));
    }

    private static void least(KStream<String, Long> events) {
        write(events.groupByKey(GROUPED).reduce(Math::min, as("store")));
    }

    @Test
    void countMerges() {
        compare(ALOS, "sum", MergingProcessorWrapperTest::count);
    }

    @Test
    void countMergesUnderExactlyOnce() {
        compare(EOS, "sum", MergingProcessorWrapperTest::count);
    }

    @Test
    void reduceMerges() {
        compare(ALOS, "sum", MergingProcessorWrapperTest::reduce);
    }

    @Test
    void reduceMergesUnderExactlyOnce() {
        compare(EOS, "min", MergingProcessorWrapperTest::least);
    }

    @Test
    void aggregateMerges() {
        compare(ALOS, "max", MergingProcessorWrapperTest::aggregate);
    }

    @Test
    void aggregateMergesUnderExactlyOnce() {
        compare(EOS, "max", MergingProcessorWrapperTest::aggregate);
    }

    private void compare(
            String guarantee, String operator, Consumer<KStream<String, Long>> topology) {
        Random random = new Random(7);
        try (MergeScenario stock = MergeScenario.start(stock(guarantee), topology);
                MergeScenario merging =
                    MergeScenario.start(merging(guarantee, operator), topology)) {
            int events = 0;
            int keys = 0;
            for (int commit = 0; commit < 30; commit++) {
                List<Event> batch = draw(random, 1 + random.nextInt(60));
                stock.commit(batch);
                merging.commit(batch);
                events += batch.size();
                Set<String> changed = new HashSet<>();
                batch.forEach(event -> changed.add(event.key()));
                keys += changed.size();
                if (commit % 5 == 0) {
                    assertEquals(stock.table("store"), merging.table("store"));
                }
            }
            assertEquals(stock.table("store"), merging.table("store"));
            List<TestRecord<String, Long>> logged = merging.records(changelog("store"));
            List<TestRecord<String, Long>> output = merging.records("output");
            assertEquals(compacted(stock.records(changelog("store"))), compacted(logged));
            assertEquals(compacted(stock.records("output")), compacted(output));
            assertEquals(keys, logged.size(), "one changelog record per key and commit");
            assertEquals(keys, output.size(), "one output record per key and commit");
            assertEquals(events, merging.metric("merge-total"));
            assertEquals(keys, merging.metric("merge-fold-total"));
            assertEquals(0, merging.metric("merge-get-total"));
            assertEquals(-1, stock.metric("merge-total"));
        }
    }

    @Test
    void joinsReadFoldedValuesBetweenCommits() {
        Consumer<KStream<String, Long>> topology = events -> {
            KTable<String, Long> sums = events.groupByKey(GROUPED).reduce(Long::sum, as("store"));
            events.join(sums, (value, sum) -> sum, Joined.with(
                    Serdes.String(), Serdes.Long(), Serdes.Long()))
                .to("output", Produced.with(Serdes.String(), Serdes.Long()));
        };
        Random random = new Random(3);
        try (MergeScenario stock = MergeScenario.start(stock(ALOS), topology);
                MergeScenario merging = MergeScenario.start(merging(ALOS, "sum"), topology)) {
            for (int commit = 0; commit < 5; commit++) {
                List<Event> batch = draw(random, 40);
                stock.commit(batch);
                merging.commit(batch);
            }
            List<Long> expected =
                stock.records("output").stream().map(TestRecord::value).toList();
            assertEquals(200, expected.size());
            assertEquals(expected, merging.records("output").stream()
                .map(TestRecord::value).toList());
            assertEquals(200, merging.metric("merge-get-total"));
        }
    }

    @Test
    void theStockProcessorStaysWhereOldValuesAreNeeded() {
        Consumer<KStream<String, Long>> topology = events -> write(events.groupByKey(GROUPED)
            .reduce(Long::sum, as("store"))
            .groupBy((key, sum) -> KeyValue.pair("all", sum), GROUPED)
            .reduce(Long::sum, (all, old) -> all - old, as("total")));
        Random random = new Random(5);
        try (MergeScenario stock = MergeScenario.start(stock(ALOS), topology);
                MergeScenario merging = MergeScenario.start(merging(ALOS, "sum"), topology)) {
            for (int commit = 0; commit < 5; commit++) {
                List<Event> batch = draw(random, 40);
                stock.commit(batch);
                merging.commit(batch);
            }
            assertEquals(stock.table("total"), merging.table("total"));
            assertEquals(stock.records("output"), merging.records("output"));
            assertEquals(-1, merging.metric("merge-total"), "nothing merges");
        }
    }

    /** Returns what is logged while an action runs. */
    static String logOf(Runnable action) {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            action.run();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    static long linesWith(String text, String log) {
        return log.lines().filter(line -> line.contains(text)).count();
    }

    @Test
    void oneLogLineSaysWhyTheStockProcessorStays() {
        String old = logOf(() -> MergeScenario.start(merging(ALOS, "sum"), events ->
            events.groupByKey(GROUPED).count(as("store"))
                .groupBy((key, count) -> KeyValue.pair("all", count), GROUPED)
                .count(as("total"))).close());
        assertEquals(1, linesWith(
            "does not merge into store store: a downstream operation needs old values", old), old);
        String stock = logOf(() -> MergeScenario.start(merging(ALOS, "sum"), events ->
            events.groupByKey(GROUPED).count(Materialized.<String, Long>as(
                Stores.persistentTimestampedKeyValueStore("store"))
                .withKeySerde(Serdes.String()))).close());
        assertEquals(1, linesWith("the store is not one of foldb's; set dsl.store", stock), stock);
        String merging = logOf(() -> MergeScenario.start(
            merging(ALOS, "sum"), MergingProcessorWrapperTest::count).close());
        assertEquals(0, linesWith("not merge", merging), merging);
    }

    @Test
    void aBuilderWithoutTheConfigurationIsLogged() {
        Properties properties = merging(ALOS, "sum");
        String log = logOf(() -> {
            StreamsBuilder builder = new StreamsBuilder();
            count(MergeScenario.events(builder));
            new TopologyTestDriver(builder.build(properties), properties).close();
        });
        assertEquals(1, linesWith("Store store does not merge, although foldb.merge.store", log),
            log);
        assertTrue(log.contains("new StreamsBuilder(new TopologyConfig("), log);
    }

    @Test
    void nullKeysAndValuesAreDroppedAndCounted() {
        List<Event> batch = List.of(new Event("a", 1L, 10), new Event(null, 2L, 11),
            new Event("b", null, 12), new Event("a", 3L, 5));
        try (MergeScenario merging =
                MergeScenario.start(merging(ALOS, "sum"), MergingProcessorWrapperTest::reduce)) {
            merging.commit(batch);
            assertEquals("{a=<4,10>}", merging.table("store").toString());
            assertEquals(2, merging.metric("dropped-records-total"));
        }
    }

    @Test
    void aStoreFoldsEarlyAtItsBound() {
        Properties properties = merging(ALOS, "sum");
        properties.put("foldb.dirty.keys.max", "3");
        List<Event> batch = draw(new Random(1), 100);
        try (MergeScenario stock =
                    MergeScenario.start(stock(ALOS), MergingProcessorWrapperTest::count);
                MergeScenario merging =
                    MergeScenario.start(properties, MergingProcessorWrapperTest::count)) {
            stock.commit(batch);
            merging.commit(batch);
            assertEquals(stock.table("store"), merging.table("store"));
            List<TestRecord<String, Long>> logged = merging.records(changelog("store"));
            assertTrue(logged.size() > 20, "early folds log: " + logged.size());
            assertEquals(compacted(stock.records(changelog("store"))), compacted(logged));
        }
    }

    @Test
    void chainsOfAggregationsCommitTogether() {
        Consumer<KStream<String, Long>> topology = events -> write(events.groupByKey(GROUPED)
            .count(as("counts")).toStream().groupByKey(GROUPED).reduce(Math::max, as("store")));
        Properties properties = merging(ALOS, "max");
        properties.put("foldb.merge.counts", "sum");
        List<Event> batch = draw(new Random(9), 50);
        try (MergeScenario stock = MergeScenario.start(stock(ALOS), topology);
                MergeScenario merging = MergeScenario.start(properties, topology)) {
            stock.commit(batch);
            merging.commit(batch);
            assertEquals(compacted(stock.records(changelog("store"))),
                compacted(merging.records(changelog("store"))));
            assertEquals(compacted(stock.records("output")),
                compacted(merging.records("output")));
        }
    }

    @Test
    void otherStoresAndOtherAggregationsStayStock() {
        try (MergeScenario merging = MergeScenario.start(merging(ALOS, "sum"), events -> {
            events.groupByKey(GROUPED).count(Materialized.<String, Long>as(
                Stores.persistentTimestampedKeyValueStore("store"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()));
            events.groupByKey(GROUPED).count(as("unregistered"));
        })) {
            merging.commit(draw(new Random(2), 20));
            assertEquals(-1, merging.metric("merge-total"), "nothing merges");
            assertEquals(merging.table("unregistered"), merging.table("store"));
        }
    }

    @Test
    void cogroupedStreamsMergeIntoOneStore() {
        Consumer<KStream<String, Long>> topology = events -> {
            var odd = events.filter((key, value) -> value % 2 != 0).groupByKey(GROUPED);
            var even = events.filter((key, value) -> value % 2 == 0).groupByKey(GROUPED);
            write(odd.<Long>cogroup((key, value, sum) -> sum + value)
                .cogroup(even, (key, value, sum) -> sum + 2 * value)
                .aggregate(() -> 0L, as("store")));
        };
        Random random = new Random(6);
        try (MergeScenario stock = MergeScenario.start(stock(ALOS), topology);
                MergeScenario merging = MergeScenario.start(merging(ALOS, "sum"), topology)) {
            for (int commit = 0; commit < 5; commit++) {
                List<Event> batch = draw(random, 40);
                stock.commit(batch);
                merging.commit(batch);
            }
            assertEquals(stock.table("store"), merging.table("store"));
            assertEquals(compacted(stock.records("output")),
                compacted(merging.records("output")));
            assertEquals(200, merging.metric("merge-total"));
        }
    }

    @Test
    void anOperandOfAnotherLengthIsOneClearException() {
        try (MergeScenario merging = MergeScenario.startWith(merging(ALOS, "sum"), builder ->
                builder.stream("text", Consumed.with(Serdes.String(), Serdes.String()))
                    .groupByKey().reduce((a, b) -> a + b, Materialized.as("store")))) {
            var topic = merging.driver().createInputTopic("text",
                Serdes.String().serializer(), Serdes.String().serializer());
            Throwable error =
                assertThrows(StreamsException.class, () -> topic.pipeInput("key", "abc"));
            String message = error + " " + error.getCause();
            assertTrue(message.contains("has 3 bytes"), message);
            assertTrue(message.contains("give the store Serdes.Long()"), message);
        }
    }

    @Test
    void anUnknownOperatorIsOneClearException() {
        ConfigException error = assertThrows(ConfigException.class, () ->
            MergeScenario.start(merging(ALOS, "product"), MergingProcessorWrapperTest::count));
        assertEquals("Invalid value product for configuration foldb.merge.store: Unknown merge "
            + "operator: expected one of sum, min, max, append, set, hyperloglog",
            error.getMessage());
        Properties properties = merging(ALOS, "sum");
        properties.put("foldb.dirty.keys.max", "none");
        ConfigException bound = assertThrows(ConfigException.class, () ->
            MergeScenario.start(properties, MergingProcessorWrapperTest::count));
        assertTrue(bound.getMessage().contains("foldb.dirty.keys.max"), bound.getMessage());
    }

    @Test
    void anAggregatorThatReturnsNullIsOneClearException() {
        try (MergeScenario merging = MergeScenario.start(merging(ALOS, "sum"), events ->
                events.groupByKey(GROUPED).aggregate(() -> 0L, (key, value, sum) -> null,
                    as("store")))) {
            Throwable error = assertThrows(StreamsException.class,
                () -> merging.commit(List.of(new Event("a", 1L, 1))));
            String message = error + " " + error.getCause();
            assertTrue(message.contains("returned null for a fresh value"), message);
        }
    }

    @Test
    void appendedStringsMerge() {
        Consumer<StreamsBuilder> topology = builder ->
            builder.stream("text", Consumed.with(Serdes.String(), Serdes.String()))
                .groupByKey().aggregate(() -> "", (key, value, all) -> all + value,
                    Materialized.as("store"));
        try (MergeScenario stock = MergeScenario.startWith(stock(ALOS), topology);
                MergeScenario merging =
                    MergeScenario.startWith(merging(ALOS, "append"), topology)) {
            for (MergeScenario scenario : List.of(stock, merging)) {
                var topic = scenario.driver().createInputTopic("text",
                    Serdes.String().serializer(), Serdes.String().serializer());
                for (int i = 0; i < 50; i++) {
                    topic.pipeInput("key" + i % 3, "value" + i, i);
                }
            }
            assertEquals(stock.table("store"), merging.table("store"));
        }
    }
}
