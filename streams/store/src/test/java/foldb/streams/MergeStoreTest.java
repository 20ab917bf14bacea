package foldb.streams;

import static foldb.streams.MergeScenario.changelog;
import static foldb.streams.MergeScenario.compacted;
import static foldb.streams.MergeScenario.draw;
import static foldb.streams.MergeScenario.events;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsMerges;
import foldb.streams.MergeScenario.Event;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Uses a merge store through the Processor API. */
class MergeStoreTest {
    @TempDir
    Path directory;

    private Properties properties(String guarantee) {
        return MergeScenario.merging(directory, guarantee);
    }

    private static StoreBuilder<MergeStore<String, Long>> sums() {
        return FoldbStores.mergeStoreBuilder("sums", "sum", Serdes.String(), Serdes.Long());
    }

    /** Processes each event with the store. */
    private static ProcessorSupplier<String, Long, Void, Void> with(
            BiConsumer<MergeStore<String, Long>, Record<String, Long>> process) {
        return () -> new Processor<>() {
            private MergeStore<String, Long> store;

            @Override
            public void init(ProcessorContext<Void, Void> context) {
                store = context.getStateStore("sums");
            }

            @Override
            public void process(Record<String, Long> record) {
                process.accept(store, record);
            }
        };
    }

    private MergeScenario start(String guarantee, StoreBuilder<?> builder,
            BiConsumer<MergeStore<String, Long>, Record<String, Long>> process) {
        return MergeScenario.startWith(properties(guarantee), topology -> {
            topology.addStateStore(builder);
            events(topology).process(with(process), "sums");
        });
    }

    private static <K, V> List<KeyValue<K, V>> list(KeyValueIterator<K, V> iterator) {
        List<KeyValue<K, V>> entries = new ArrayList<>();
        try (iterator) {
            assertTrue(!iterator.hasNext() || iterator.peekNextKey() != null);
            iterator.forEachRemaining(entries::add);
        }
        return entries;
    }

    @Test
    void mergesPutsAndDeletesMeetAModel() {
        for (String guarantee : List.of(StreamsConfig.AT_LEAST_ONCE,
                StreamsConfig.EXACTLY_ONCE_V2)) {
            Random random = new Random(11);
            TreeMap<String, Long> model = new TreeMap<>();
            try (MergeScenario scenario = start(guarantee, sums(), (store, record) -> {
                switch (random.nextInt(10)) {
                    case 0 -> {
                        store.put(record.key(), record.value());
                        model.put(record.key(), record.value());
                    }
                    case 1 -> assertEquals(
                        model.remove(record.key()), store.delete(record.key()));
                    case 2 -> {
                        store.put(record.key(), null);
                        model.remove(record.key());
                    }
                    default -> {
                        store.merge(record.key(), record.value());
                        model.merge(record.key(), record.value(), Long::sum);
                    }
                }
                if (random.nextInt(3) == 0) {
                    assertEquals(model.get(record.key()), store.get(record.key()));
                    assertEquals(model.size(), list(store.all()).size());
                }
            })) {
                for (int commit = 0; commit < 20; commit++) {
                    scenario.commit(draw(random, 1 + random.nextInt(40)));
                    Map<String, String> logged = new TreeMap<>();
                    MergeStore<String, Long> store = store(scenario);
                    model.keySet().forEach(key -> {
                        ValueAndTimestamp<Long> value = store.getWithTimestamp(key);
                        logged.put(key, value.value() + " at " + value.timestamp());
                    });
                    loggedSoFar(scenario, commit).forEach((key, last) -> {
                        if (!last.startsWith("null")) {
                            assertEquals(logged.remove(key), last, key);
                        }
                    });
                    assertEquals(Map.of(), logged, "the changelog has every key");
                }
            }
        }
    }

    private final Map<String, String> changelog = new TreeMap<>();

    private Map<String, String> loggedSoFar(MergeScenario scenario, int commit) {
        if (commit == 0) {
            changelog.clear();
        }
        changelog.putAll(compacted(scenario.records(changelog("sums"))));
        return changelog;
    }

    @SuppressWarnings("unchecked")
    private static MergeStore<String, Long> store(MergeScenario scenario) {
        return (MergeStore<String, Long>) scenario.driver().getAllStateStores().get("sums");
    }

    @Test
    void rangesAreSortedAndPrefixesMatch() {
        try (MergeScenario scenario = start(StreamsConfig.AT_LEAST_ONCE, sums(),
                (store, record) -> store.merge(record.key(), record.value()))) {
            scenario.commit(List.of(new Event("b", 2L, 1), new Event("a", 1L, 2),
                new Event("bb", 3L, 3), new Event("c", 4L, 4), new Event("a", 5L, 1)));
            MergeStore<String, Long> store = store(scenario);
            assertEquals("[KeyValue(a, 6), KeyValue(b, 2), KeyValue(bb, 3), KeyValue(c, 4)]",
                list(store.all()).toString());
            assertEquals(List.of("c", "bb", "b", "a"),
                list(store.reverseAll()).stream().map(entry -> entry.key).toList());
            assertEquals(List.of("b", "bb"),
                list(store.range("b", "bz")).stream().map(entry -> entry.key).toList());
            assertEquals(List.of("bb", "b"),
                list(store.reverseRange("b", "bz")).stream().map(entry -> entry.key).toList());
            assertEquals(List.of("b", "bb"),
                list(store.prefixScan("b", Serdes.String().serializer())).stream()
                    .map(entry -> entry.key).toList());
            assertEquals(ValueAndTimestamp.make(6L, 2), store.getWithTimestamp("a"));
            assertNull(store.get("z"));
            assertTrue(QueryableStoreTypes.<String, Long>keyValueStore().accepts(store));
            assertThrows(NullPointerException.class, () -> store.merge(null, 1L));
            assertThrows(NullPointerException.class, () -> store.merge("a", null));
        }
    }

    @Test
    void oneChangelogRecordPerKeyAndCommit() {
        Random random = new Random(4);
        try (MergeScenario scenario = start(StreamsConfig.EXACTLY_ONCE_V2, sums(),
                (store, record) -> store.merge(record.key(), record.value()))) {
            int keys = 0;
            for (int commit = 0; commit < 10; commit++) {
                List<Event> batch = draw(random, 30);
                scenario.commit(batch);
                Set<String> changed = new HashSet<>();
                batch.forEach(event -> changed.add(event.key()));
                keys += changed.size();
            }
            assertEquals(keys, scenario.records(changelog("sums")).size());
            assertEquals(300, scenario.metric("merge-total"));
        }
    }

    @Test
    void withoutLoggingNothingIsLoggedAndTheStoreFolds() {
        try (MergeScenario scenario = start(StreamsConfig.AT_LEAST_ONCE,
                sums().withLoggingDisabled(),
                (store, record) -> store.merge(record.key(), record.value()))) {
            scenario.commit(List.of(new Event("a", 1L, 1), new Event("a", 2L, 2)));
            assertEquals(3L, store(scenario).get("a"));
            assertEquals(Set.of(), scenario.driver().producedTopicNames());
        }
    }

    /**
     * Streams flushes a store in the order in which it joins the topology. Here a processor before
     * an aggregation and one behind it share a store, so its flush comes before the aggregation's.
     */
    @Test
    @NeedsMerges
    void aMergeFromTheFlushOfALaterStoreIsLoggedInTheSameCommit() {
        Properties properties = properties(StreamsConfig.AT_LEAST_ONCE);
        properties.put("foldb.merge.counts", "sum");
        Grouped<String, Long> grouped = Grouped.with(Serdes.String(), Serdes.Long());
        try (MergeScenario scenario = MergeScenario.startWith(properties, topology -> {
            topology.addStateStore(sums());
            var input = events(topology);
            input.process(with((store, record) -> store.get(record.key())), "sums");
            input.groupByKey(grouped)
                .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts")
                    .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
                .toStream()
                .process(with((store, record) -> store.merge(record.key(), record.value())),
                    "sums");
        })) {
            scenario.commit(List.of(new Event("a", 1L, 1), new Event("a", 2L, 2)));
            scenario.commit(List.of(new Event("a", 1L, 1), new Event("b", 2L, 2)));
            assertEquals("[2, 5, 1]", scenario.records(changelog("sums")).stream()
                .map(record -> record.value()).toList().toString());
        }
    }

    @Test
    void setsKeepTheirMembers() {
        byte[] red = "red".getBytes(StandardCharsets.UTF_8);
        byte[] blue = new byte[300];
        try (MergeScenario scenario = MergeScenario.startWith(
                properties(StreamsConfig.AT_LEAST_ONCE), topology -> {
                    topology.addStateStore(FoldbStores.mergeStoreBuilder(
                        "sums", "set", Serdes.String(), Serdes.ByteArray()));
                    events(topology).process(with((unused, record) -> { }), "sums");
                })) {
            @SuppressWarnings("unchecked")
            MergeStore<String, byte[]> store =
                (MergeStore<String, byte[]>) scenario.driver().getAllStateStores().get("sums");
            store.merge("a", SetOperands.add(red), 1);
            store.merge("a", SetOperands.add(blue), 9);
            assertEquals(2, SetOperands.members(store.get("a")).size());
            store.merge("a", SetOperands.remove(blue), 3);
            assertEquals("red", new String(
                SetOperands.members(store.get("a")).get(0), StandardCharsets.UTF_8));
            assertEquals(9, store.getWithTimestamp("a").timestamp());
            store.merge("a", SetOperands.remove(red), 3);
            assertEquals(List.of(), SetOperands.members(store.get("a")));
        }
    }

    private MergeScenario startSketches() {
        return MergeScenario.startWith(properties(StreamsConfig.AT_LEAST_ONCE), topology -> {
            topology.addStateStore(FoldbStores.mergeStoreBuilder(
                "sums", "hyperloglog", Serdes.String(), Serdes.ByteArray()));
            events(topology).process(with((unused, record) -> { }), "sums");
        });
    }

    @SuppressWarnings("unchecked")
    private static MergeStore<String, byte[]> sketches(MergeScenario scenario) {
        return (MergeStore<String, byte[]>) scenario.driver().getAllStateStores().get("sums");
    }

    @Test
    void sketchesCountDifferentElements() {
        try (MergeScenario scenario = startSketches()) {
            MergeStore<String, byte[]> store = sketches(scenario);
            for (int i = 0; i < 2000; i++) {
                store.merge("a", SketchOperands.of(
                    Integer.toString(i % 1000).getBytes(StandardCharsets.UTF_8)), i);
            }
            assertEquals(1000, SketchOperands.estimate(store.get("a")), 50);
            assertThrows(SerializationException.class,
                () -> SketchOperands.estimate(new byte[] {9}));
        }
    }

    @Test
    void aStoreThatLostMergesNeverCommits() {
        MergeScenario scenario = startSketches();
        MergeStore<String, byte[]> store = sketches(scenario);
        store.merge("a", SketchOperands.of(new byte[] {1}), 1);
        // Behind the store's back, so that its next write fails.
        Layers.find(store, FoldbMergingStore.class)
            .wrapped().database().close();
        // An interactive query meets the failure first, and its caller may ignore it.
        RuntimeException error = assertThrows(ProcessorStateException.class, () -> store.get("a"));
        assertTrue(error.getMessage().contains("Error while merging"), error.getMessage());
        assertThrows(ProcessorStateException.class, () -> store.get("a"));
        assertThrows(ProcessorStateException.class, scenario::close, "the commit of a close");
    }

    @Test
    void aMalformedOperandIsRefusedAndLosesNoOtherMerge() {
        try (MergeScenario scenario = startSketches()) {
            MergeStore<String, byte[]> store = sketches(scenario);
            store.merge("a", SketchOperands.of(new byte[] {1}), 1);
            StreamsException error = assertThrows(StreamsException.class,
                () -> store.merge("b", new byte[] {9}, 1));
            assertTrue(error.getMessage().contains("must be 8 bytes of timestamp, then a sketch"),
                error.getMessage());
            store.merge("a", SketchOperands.of(new byte[] {2}), 1);
            scenario.commit(List.of(new Event("x", 1L, 1)));
            assertEquals(2, SketchOperands.estimate(store.get("a")), 0.5);
            assertNull(store.get("b"));
        }
    }

    @Test
    void aKeyThatIsTooLargeIsRefusedAndLosesNoOtherMerge() {
        try (MergeScenario scenario = start(StreamsConfig.AT_LEAST_ONCE, sums(),
                (store, record) -> { })) {
            MergeStore<String, Long> store = store(scenario);
            String fits = "k".repeat(20 << 10);
            store.merge("a", 1L, 1);
            assertThrows(StreamsException.class, () -> store.merge("k".repeat(1 << 20), 1L, 1));
            store.merge(fits, 2L, 1);
            store.merge(fits, 3L, 1);
            scenario.commit(List.of(new Event("x", 1L, 1)));
            assertEquals(1L, store.get("a"));
            assertEquals(5L, store.get(fits));
        }
    }

    @Test
    void dirtyKeysOfAllStoresKeepOneBound() {
        int stores = 8;
        long bound = 1 << 20;
        Properties properties = properties(StreamsConfig.AT_LEAST_ONCE);
        properties.put(FoldbConfig.MAX_TOTAL_DIRTY_BYTES, bound);
        long before = DirtyTotal.PROCESS.bytes();
        try (MergeScenario scenario = MergeScenario.startWith(properties, topology -> {
            String[] names = new String[stores];
            for (int i = 0; i < stores; i++) {
                names[i] = i == 0 ? "sums" : "sums" + i;
                topology.addStateStore(FoldbStores.mergeStoreBuilder(
                    names[i], "sum", Serdes.String(), Serdes.Long()));
            }
            events(topology).process(with((unused, record) -> { }), names);
        })) {
            long highest = 0;
            for (int i = 0; i < stores; i++) {
                @SuppressWarnings("unchecked")
                MergeStore<String, Long> store = (MergeStore<String, Long>) scenario.driver()
                    .getAllStateStores().get(i == 0 ? "sums" : "sums" + i);
                for (int key = 0; key < 3000; key++) {
                    store.merge("key" + key, 1L, 1);
                    highest = Math.max(highest, DirtyTotal.PROCESS.bytes() - before);
                }
                assertEquals(1L, store.get("key2999"));
            }
            assertTrue(highest > bound / 2, "folds wait for half of the bound: " + highest);
            assertTrue(highest <= bound, "all stores together: " + highest);
        }
        assertEquals(before, DirtyTotal.PROCESS.bytes(), "a closed store counts nothing");
    }

    @Test
    void anOperandThatSerializesToNullIsOneClearException() {
        Serde<Long> noBytes = Serdes.serdeFrom((topic, value) -> null, (topic, bytes) -> 0L);
        try (MergeScenario scenario = start(StreamsConfig.AT_LEAST_ONCE,
                FoldbStores.mergeStoreBuilder("sums", "append", Serdes.String(), noBytes),
                (store, record) -> { })) {
            StreamsException error = assertThrows(StreamsException.class,
                () -> store(scenario).merge("a", 1L, 1));
            assertTrue(error.getMessage().contains("serialized an operand to null"),
                error.getMessage());
        }
    }

    @Test
    void anUnknownOperatorIsOneClearException() {
        ConfigException error = assertThrows(ConfigException.class, () ->
            FoldbStores.mergeStoreBuilder("sums", "avg", Serdes.String(), Serdes.Long()));
        assertTrue(error.getMessage().contains("expected one of sum, min"), error.getMessage());
    }
}
