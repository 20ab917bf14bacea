package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.MergeScenario.Event;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Operators that do not fit are refused, or found by {@code foldb.merge.verify}. */
@KafkaConditions.NeedsMerges
class MergeVerifyTest {
    private static final Grouped<String, Long> GROUPED =
        Grouped.with(Serdes.String(), Serdes.Long());
    private static final TimeWindows HOPPING = TimeWindows.ofSizeAndGrace(
        Duration.ofMillis(100), Duration.ofSeconds(50)).advanceBy(Duration.ofMillis(30));

    @TempDir
    Path directory;

    private Properties merging(String operator, String verifiedKeys) {
        Properties properties =
            MergeScenario.merging(directory, StreamsConfig.AT_LEAST_ONCE);
        properties.put("foldb.merge.store", operator);
        properties.put("foldb.merge.verify", verifiedKeys);
        return properties;
    }

    private static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> longs() {
        return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("store")
            .withValueSerde(Serdes.Long());
    }

    private static Consumer<KStream<String, Long>> from(long initial) {
        return events -> events.groupByKey(GROUPED)
            .aggregate(() -> initial, (key, value, sum) -> sum + value, longs());
    }

    private static void commitSome(MergeScenario scenario) {
        Random random = new Random(2);
        for (int commit = 0; commit < 20; commit++) {
            scenario.commit(MergeScenario.draw(random, 1 + random.nextInt(20)));
        }
    }

    /** Returns how a topology fails over these events; the close of the task fails again. */
    private static String failure(Properties properties,
            Consumer<KStream<String, Long>> topology, List<List<Event>> commits) {
        Throwable error = assertThrows(StreamsException.class, () -> {
            try (MergeScenario scenario = MergeScenario.start(properties, topology)) {
                commits.forEach(scenario::commit);
            }
        });
        return error + " " + error.getCause();
    }

    @Test
    void anOperatorThatFitsPasses() {
        for (Consumer<KStream<String, Long>> topology : List.<Consumer<KStream<String, Long>>>of(
                from(0),
                events -> events.groupByKey(GROUPED).count(longs()),
                events -> events.groupByKey(GROUPED).reduce(Long::sum, longs()),
                events -> events.groupByKey(GROUPED).windowedBy(HOPPING)
                    .count(Materialized.as("store")),
                events -> events.groupByKey(GROUPED).windowedBy(HOPPING)
                    .reduce(Long::sum, Materialized.as("store")))) {
            try (MergeScenario scenario = MergeScenario.start(merging("sum", "1"), topology)) {
                commitSome(scenario);
                assertTrue(scenario.metric("merge-total") > 0);
            }
        }
    }

    @Test
    void anOperatorThatDiffersFailsWithTheKeyAndBothValues() {
        String message = failure(merging("max", "1"), from(0),
            List.of(List.of(new Event("a", 3L, 10), new Event("a", 4L, 5))));
        assertTrue(message.contains("The merges of store store differ from its aggregation:"
            + " key a folds to 4 at 10, and the aggregator computes 7 at 10."), message);
        assertTrue(message.contains("Check that the operator max combines"), message);
    }

    @Test
    void aDifferenceBetweenCommitsIsFoundToo() {
        String message = failure(merging("max", "1"), from(0),
            List.of(List.of(new Event("a", 3L, 10)), List.of(new Event("a", 4L, 11))));
        assertTrue(message.contains("key a folds to 4 at 11, and the aggregator computes 7 at 11"),
            message);
    }

    @Test
    void aWindowThatDiffersFailsWithItsStart() {
        String message = failure(merging("min", "1"), events ->
                events.groupByKey(GROUPED).windowedBy(HOPPING)
                    .reduce(Long::sum, Materialized.as("store")),
            List.of(List.of(new Event("a", 3L, 10), new Event("a", 4L, 5))));
        assertTrue(message.contains("key a in the window from 0 folds to 3 at 10"), message);
    }

    @Test
    void aRefusedOperandIsNoDifference() {
        Serde<Long> refusesNegative = Serdes.serdeFrom(
            (topic, number) -> number < 0 ? new byte[3]
                : Serdes.Long().serializer().serialize(topic, number),
            Serdes.Long().deserializer());
        Properties properties = merging("max", "1");
        properties.put(StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG,
            LogAndContinueProcessingExceptionHandler.class);
        try (MergeScenario scenario = MergeScenario.start(properties, events ->
                events.groupByKey(GROUPED).reduce(Math::max, Materialized
                    .<String, Long, KeyValueStore<Bytes, byte[]>>as("store")
                    .withValueSerde(refusesNegative)))) {
            scenario.commit(List.of(new Event("a", 3L, 10), new Event("a", -1L, 20),
                new Event("b", -1L, 20)));
            assertEquals("{a=<3,10>}", scenario.table("store").toString());
        }
    }

    @Test
    void earlyFoldsVerifyToo() {
        Properties properties = merging("sum", "1");
        properties.put("foldb.dirty.keys.max", "3");
        try (MergeScenario scenario = MergeScenario.start(properties, from(0))) {
            commitSome(scenario);
            assertTrue(scenario.metric("merge-fold-total") > 0);
        }
    }

    @Test
    void oneOfManyKeysIsVerified() {
        int failed = 0;
        for (int key = 0; key < 200; key++) {
            String name = "key" + key;
            Properties properties = merging("max", "10");
            properties.put(StreamsConfig.STATE_DIR_CONFIG, directory.resolve(name).toString());
            try (MergeScenario scenario = MergeScenario.start(properties, from(0))) {
                scenario.commit(List.of(new Event(name, 3L, 10), new Event(name, 4L, 5)));
            } catch (StreamsException expected) {
                failed++;
            }
        }
        assertTrue(failed > 5 && failed < 50, failed + " of 200 keys were verified");
    }

    @Test
    void anInitialValueThatIsNotNeutralIsRefusedWhenTheTopologyIsBuilt() {
        ConfigException error = assertThrows(ConfigException.class, () ->
            MergeScenario.start(merging("sum", "1000000"), from(100)));
        assertEquals("Invalid value sum for configuration foldb.merge.store: The aggregation begins"
            + " with 100, and each merge would add it once more: begin with 0 and add the rest"
            + " where you read, or remove this setting", error.getMessage());
        assertThrows(ConfigException.class, () -> MergeScenario.start(
            merging("sum", "1000000"), events -> events.groupByKey(GROUPED).windowedBy(HOPPING)
                .aggregate(() -> 1L, (key, value, sum) -> sum, Materialized.as("store"))));
        assertThrows(ConfigException.class, () -> MergeScenario.start(
            merging("append", "1000000"), events -> events.groupByKey(GROUPED)
                .aggregate(() -> "begin", (key, value, all) -> all + value,
                    Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("store")
                        .withValueSerde(Serdes.String()))));
    }

    @Test
    void anInitialValueOfAnotherTypeIsRefusedBeforeTheFirstRecord() {
        Serde<Integer> asLong = Serdes.serdeFrom(
            (topic, number) -> number == null ? null
                : Serdes.Long().serializer().serialize(topic, number.longValue()),
            (topic, raw) -> Serdes.Long().deserializer().deserialize(topic, raw).intValue());
        Throwable error = assertThrows(Throwable.class, () -> MergeScenario.start(
            merging("sum", "1000000"), events -> events.groupByKey(GROUPED)
                .aggregate(() -> 100, (key, value, sum) -> sum + value.intValue(),
                    Materialized.<String, Integer, KeyValueStore<Bytes, byte[]>>as("store")
                        .withValueSerde(asLong))));
        String message = error + " " + error.getCause();
        assertTrue(message.contains("begins with 100"), message);
    }

    @Test
    void anIdempotentOperatorTakesEveryInitialValue() {
        try (MergeScenario scenario = MergeScenario.start(merging("max", "1"), events ->
                events.groupByKey(GROUPED).aggregate(() -> 17L,
                    (key, value, greatest) -> Math.max(value, greatest), longs()))) {
            commitSome(scenario);
            assertTrue(scenario.metric("merge-total") > 0);
        }
    }

    @Test
    void aBadNumberOfKeysIsOneClearException() {
        ConfigException error = assertThrows(ConfigException.class, () ->
            MergeScenario.start(merging("sum", "0"), from(0)));
        assertTrue(error.getMessage().contains("foldb.merge.verify"), error.getMessage());
    }
}
