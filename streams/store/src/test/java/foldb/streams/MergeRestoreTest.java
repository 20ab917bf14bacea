package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.internals.WrappedStateStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Restores merge stores from what other merge stores logged, and opens them again. */
class MergeRestoreTest {
    private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);

    @TempDir
    Path directory;

    private LoggingContext context(String task, String guarantee) {
        return new LoggingContext(directory.resolve(task),
            Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee));
    }

    private static MergeStore<String, Long> open(LoggingContext context, String operator) {
        MergeStore<String, Long> store = FoldbStores.mergeStoreBuilder(
            "store", operator, Serdes.String(), Serdes.Long()).build();
        store.init(context.context(), store);
        return store;
    }

    private static void flush(MergeStore<String, Long> store) {
        ((WrappedStateStore<?, ?, ?>) store).flushCache();
    }

    private static Map<String, Long> all(MergeStore<String, Long> store) {
        Map<String, Long> all = new TreeMap<>();
        try (KeyValueIterator<String, Long> entries = store.all()) {
            while (entries.hasNext()) {
                KeyValue<String, Long> entry = entries.next();
                all.put(entry.key, entry.value);
            }
        }
        return all;
    }

    private static void mergeSome(LoggingContext context, MergeStore<String, Long> store,
            Random random, Map<String, Long> model) {
        for (int i = 0; i < 200; i++) {
            context.next(i, 1000 + random.nextInt(100));
            String key = "key" + random.nextInt(20);
            if (random.nextInt(20) == 0) {
                store.delete(key);
                model.remove(key);
            } else {
                long operand = random.nextInt(100);
                store.merge(key, operand);
                model.merge(key, operand, Long::sum);
            }
            if (random.nextInt(30) == 0) {
                flush(store);
            }
        }
        flush(store);
    }

    @Test
    void aStoreRestoresFromTheChangelogAndMergesOn() {
        Random random = new Random(1);
        Map<String, Long> model = new TreeMap<>();
        for (String guarantee : new String[] {
            StreamsConfig.AT_LEAST_ONCE, StreamsConfig.EXACTLY_ONCE_V2}) {
            model.clear();
            LoggingContext first = context("first" + guarantee, guarantee);
            MergeStore<String, Long> store = open(first, "sum");
            mergeSome(first, store, random, model);
            assertEquals(model, all(store));
            store.close();

            LoggingContext second = context("second" + guarantee, guarantee);
            MergeStore<String, Long> restored = open(second, "sum");
            second.restore(first.log());
            assertEquals(model, all(restored));
            assertEquals(0, second.log().size(), "a restore logs nothing");
            mergeSome(second, restored, random, model);
            assertEquals(model, all(restored));
            restored.close();
        }
    }

    @Test
    @NeedsOffsetsInStores
    void mergesStayAcrossReopensAndFoldOnce() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        MergeStore<String, Long> store = open(context, "sum");
        context.next(7, 1000);
        store.merge("a", 5L);
        store.merge("a", 6L);
        flush(store);
        flush(store);
        assertEquals(1, context.log().size(), "the second flush finds nothing to fold");
        store.commit(Map.of(CHANGELOG, 1L));
        store.close();
        MergeStore<String, Long> again = open(context, "sum");
        assertEquals(11L, again.get("a"));
        assertEquals(1L, again.committedOffset(CHANGELOG));
        assertEquals(Position.emptyPosition().withComponent("input", 0, 7), again.getPosition());
        again.close();
    }

    @Test
    @NeedsOffsetsInStores
    void underExactlyOnceAMergeForgetsTheStoredOffset() {
        LoggingContext context = context("task", StreamsConfig.EXACTLY_ONCE_V2);
        MergeStore<String, Long> store = open(context, "sum");
        context.next(7, 1000);
        store.commit(Map.of(CHANGELOG, 1L));
        assertEquals(1L, store.committedOffset(CHANGELOG));
        store.merge("a", 5L);
        assertEquals(5L, store.get("a"));
        assertEquals(null, store.committedOffset(CHANGELOG));
        store.close();
    }

    @Test
    void thePositionHasEveryMergeThatAReadSees() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        MergeStore<String, Long> store = open(context, "sum");
        context.next(41, 1000);
        store.merge("a", 5L);
        context.next(42, 1000);
        store.merge("a", 5L);
        assertEquals(Position.emptyPosition().withComponent("input", 0, 42), store.getPosition());
        store.close();
    }

    @Test
    void keysOfAFoldThatFailedAreFoldedAgain() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        MergeStore<String, Long> store = open(context, "sum");
        FoldbMergingStore merging =
            Layers.find(store, FoldbMergingStore.class);
        Set<String> forwarded = new TreeSet<>();
        AtomicBoolean fails = new AtomicBoolean(true);
        assertFalse(merging.setFlushListener(record -> { }, true), "old values are unknown");
        assertTrue(merging.setFlushListener(record -> {
            if (forwarded.size() == 1500 && fails.getAndSet(false)) {
                throw new IllegalStateException("downstream");
            }
            forwarded.add(new String(record.key(), StandardCharsets.UTF_8));
        }, false));
        for (int i = 0; i < 3000; i++) {
            context.next(i, 1000);
            store.merge("key" + i, 1L);
        }
        assertThrows(IllegalStateException.class, () -> flush(store));
        assertEquals(1500, forwarded.size());
        flush(store);
        assertEquals(3000, forwarded.size());
        Set<String> logged = new TreeSet<>();
        context.log().forEach(record ->
            logged.add(new String(record.key(), StandardCharsets.UTF_8)));
        assertEquals(forwarded, logged);
        store.close();
    }

    @Test
    void anotherOperatorThanTheStoredOneIsOneClearException() {
        LoggingContext context = context("task", StreamsConfig.AT_LEAST_ONCE);
        MergeStore<String, Long> store = open(context, "sum");
        context.next(1, 1000);
        store.merge("a", 5L);
        flush(store);
        store.close();
        Throwable error = assertThrows(ConfigException.class, () -> open(context, "max"));
        assertTrue(error.getMessage().contains("'sum'") && error.getMessage().contains("'max'"),
            error.getMessage());
    }
}
