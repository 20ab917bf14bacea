package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.internals.WrappedStateStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A window that the database cannot have is folded in memory, and any other one is read. */
class NewWindowsTest {
    private static final Duration SIZE = Duration.ofSeconds(10);
    private static final Duration RETENTION = Duration.ofDays(1);
    private static final String OTHER_INTERVAL_IS_NEW = "a new interval has no unknown keys";

    @TempDir
    Path directory;

    private LoggingContext context() {
        LoggingContext context = new LoggingContext(directory.resolve("task"),
            Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE));
        context.next(1, 1000);
        return context;
    }

    private static MergeWindowStore<String, Long> open(LoggingContext context, String operator) {
        MergeWindowStore<String, Long> store = FoldbStores.mergeWindowStoreBuilder(
            "store", operator, RETENTION, SIZE, Serdes.String(), Serdes.Long()).build();
        store.init(context.context(), store);
        return store;
    }

    private static void flush(MergeWindowStore<String, Long> store) {
        ((WrappedStateStore<?, ?, ?>) store).flushCache();
    }

    /** Merges 1 into one window of each of some keys. */
    private static void mergeKeys(MergeWindowStore<String, Long> store, int keys) {
        for (int key = 0; key < keys; key++) {
            store.merge("key" + key, 1L, 20_000);
        }
    }

    /** Returns how many keys the folds of the open stores have read. */
    private static double foldGets(LoggingContext context) {
        return context.metric("merge-fold-get-total");
    }

    /** Returns the logged values in order. */
    private static List<Long> logged(LoggingContext context) {
        return context.log().stream().map(ConsumerRecord::value)
            .map(value -> ByteBuffer.wrap(value).getLong()).toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"sum", "min", "max"})
    void theFirstFoldOfAWindowReadsNothingAndLaterOnesRead(String operator) {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, operator);
        store.merge("a", 5L, List.of(20_000L), 900);
        store.merge("a", 3L, List.of(20_000L, 30_000L), 700);
        flush(store);
        assertEquals(0, foldGets(context));
        long first = Map.of("sum", 8L, "min", 3L, "max", 5L).get(operator);
        assertEquals(ValueAndTimestamp.make(first, 900), store.fetchWithTimestamp("a", 20_000));
        assertEquals(ValueAndTimestamp.make(3L, 700), store.fetchWithTimestamp("a", 30_000));
        store.merge("a", 4L, List.of(20_000L), 800);
        store.merge("b", 9L, List.of(20_000L), 800);
        flush(store);
        assertEquals(1, foldGets(context), "only the old window is read");
        long second = Map.of("sum", 12L, "min", 3L, "max", 5L).get(operator);
        assertEquals(ValueAndTimestamp.make(second, 900), store.fetchWithTimestamp("a", 20_000));
        assertEquals(List.of(first, 3L, second, 9L).stream().sorted().toList(),
            logged(context).stream().sorted().toList());
        store.close();
    }

    @Test
    void aWindowThatAReaderAskedForIsNoLongerNew() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        store.merge("a", 5L, 20_000);
        store.merge("b", 3L, 20_000);
        assertEquals(5L, store.fetch("a", 20_000));
        store.merge("a", 6L, 20_000);
        flush(store);
        assertEquals(1, foldGets(context));
        assertEquals(11L, store.fetch("a", 20_000));
        assertEquals(3L, store.fetch("b", 20_000));
        assertEquals(List.of(3L, 11L), logged(context));
        store.close();
    }

    @Test
    void aReaderOfAllWindowsSeesEachMerge() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        int keys = 5000;
        mergeKeys(store, keys);
        for (int round = 0; round < 2; round++) {
            assertEquals(keys, sum(store));
            flush(store);
        }
        assertEquals(keys, foldGets(context));
        store.close();
    }

    @Test
    void aLargeKeyIsMergedAsAnyOther() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        String key = "large".repeat(2000);
        for (int round = 1; round <= 2; round++) {
            store.merge(key, 2L, 20_000);
            store.merge(key, 3L, 20_000);
            store.merge("small", 1L, 20_000);
            flush(store);
            assertEquals(round == 1 ? 1 : 3, foldGets(context), "a large key is always read");
            assertEquals(5L * round, store.fetch(key, 20_000));
            assertEquals(1L * round, store.fetch("small", 20_000));
        }
        store.close();
    }

    @Test
    void windowsOfAFoldThatFailedAreFoldedAgain() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        Set<String> forwarded = new TreeSet<>();
        AtomicBoolean fails = new AtomicBoolean(true);
        assertTrue(Layers.find(store, FoldbMergingWindowStore.class).setFlushListener(record -> {
            if (forwarded.size() == 1500 && fails.getAndSet(false)) {
                throw new IllegalStateException("downstream");
            }
            forwarded.add(HexFormat.of().formatHex(record.key())
                + ByteBuffer.wrap(record.value().newValue).getLong(Long.BYTES));
        }, false));
        mergeKeys(store, 3000);
        assertThrows(IllegalStateException.class, () -> flush(store));
        store.merge("key7", 1L, 20_000);
        store.merge("key2999", 1L, 20_000);
        flush(store);
        assertEquals(3001, forwarded.size(), "one window was forwarded before its last merge");
        assertEquals(3002, sum(store));
        store.close();
    }

    @Test
    @NeedsOffsetsInStores
    void aStoreWhoseFoldCannotWriteNeverCommits() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        store.merge("a", 5L, 20_000);
        // Behind the store's back, so that its next write fails.
        Layers.find(store, FoldbMergingWindowStore.class).wrapped().database().close();
        assertThrows(ProcessorStateException.class, () -> flush(store));
        assertThrows(ProcessorStateException.class, () -> flush(store));
        assertThrows(ProcessorStateException.class, () -> store.commit(Map.of()));
        assertEquals(List.of(), logged(context));
        store.close();
    }

    @Test
    void thePositionKeepsTheNewestOfRecordsInAnyOrder() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        context.next(100, 1000);
        store.merge("a", 1L, 20_000);
        context.next(5, 1000);
        store.merge("b", 1L, 20_000);
        assertEquals(position(100), store.getPosition());
        store.close();
    }

    @Test
    void aWindowThatAProcessorPutIsNotNew() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        store.put("a", 5L, 20_000);
        store.merge("a", 6L, 20_000);
        flush(store);
        assertEquals(11L, store.fetch("a", 20_000));
        store.merge("b", 1L, 20_000);
        store.put("b", null, 20_000);
        store.merge("b", 2L, 20_000);
        flush(store);
        assertEquals(2L, store.fetch("b", 20_000));
        store.close();
    }

    // a.MERGE.6 stays in memory while the merges into old windows fill their buffer.
    @Test
    void thePositionHasNoRecordWhoseMergeIsInMemoryOnly() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        int old = 5000;
        mergeKeys(store, old);
        flush(store);
        var written = Layers.find(store, FoldbTimestampedWindowStore.class);
        assertEquals(position(1), written.getPosition());
        context.next(2, 1000);
        store.merge("a", 6L, 20_000);
        mergeKeys(store, old);
        assertEquals(position(1), written.getPosition());
        assertEquals(position(2), store.getPosition());
        assertEquals(position(2), written.getPosition());
        store.close();
    }

    private static Position position(long offset) {
        return Position.emptyPosition().withComponent("input", 0, offset);
    }

    @Test
    void afterAnOpenTheIntervalsThatAreThereAreRead() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        store.merge("a", 5L, 20_000);
        flush(store);
        store.close();
        MergeWindowStore<String, Long> again = open(context, "sum");
        again.merge("a", 6L, 20_000);
        again.merge("b", 1L, 20_000);
        again.merge("a", 7L, RETENTION.toMillis());
        flush(again);
        assertEquals(2, foldGets(context), OTHER_INTERVAL_IS_NEW);
        assertEquals(11L, again.fetch("a", 20_000));
        assertEquals(7L, again.fetch("a", RETENTION.toMillis()));
        again.close();
    }

    @Test
    void afterARestoreTheIntervalsThatCameBackAreRead() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        store.merge("a", 5L, 20_000);
        flush(store);
        store.close();
        LoggingContext other = new LoggingContext(directory.resolve("other"),
            Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE));
        other.next(1, 1000);
        MergeWindowStore<String, Long> restored = open(other, "sum");
        other.restore(context.log());
        restored.merge("a", 6L, 20_000);
        restored.merge("a", 7L, RETENTION.toMillis());
        flush(restored);
        assertEquals(1, foldGets(other), OTHER_INTERVAL_IS_NEW);
        assertEquals(11L, restored.fetch("a", 20_000));
        restored.close();
    }

    @Test
    void theKeysOfANewWindowCountAsChangedKeys() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        double none = dirtyBytes(context);
        store.merge("a", 5L, 20_000);
        double unwritten = dirtyBytes(context);
        assertEquals(5L, store.fetch("a", 20_000));
        double written = dirtyBytes(context);
        assertTrue(none == 0 && 0 < written && written < unwritten,
            none + ", " + written + ", " + unwritten);
        flush(store);
        assertEquals(0, dirtyBytes(context));
        store.close();
    }

    private static double dirtyBytes(LoggingContext context) {
        return context.metric("merge-dirty-bytes");
    }

    @Test
    void aTaskThatForgetsItsMergesKeepsTheStoredOnes() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        store.merge("a", 5L, 20_000);
        flush(store);
        store.merge("b", 6L, 20_000);
        ((WrappedStateStore<?, ?, ?>) store).clearCache();
        assertNull(store.fetch("b", 20_000));
        store.merge("a", 1L, 20_000);
        store.merge("b", 2L, 20_000);
        flush(store);
        assertEquals(List.of(5L, 6L, 2L), logged(context));
        store.close();
    }

    // Each round is a new window. The reader's writes and the folds take turns in any order.
    @Test
    void aReaderInAnotherThreadSeesEachMergeOnce() throws Exception {
        int rounds = 3000;
        int merges = 4;
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        AtomicLong done = new AtomicLong();
        AtomicBoolean over = new AtomicBoolean();
        CompletableFuture<Void> reader = CompletableFuture.runAsync(() -> {
            for (int reads = 0; reads == 0 || !over.get(); reads++) {
                long before = done.get();
                long round = Math.min(before / merges, rounds - 1);
                Long found = read(store, round * SIZE.toMillis(), reads % 2 == 0);
                long most = Math.min(done.get() + 1 - round * merges, merges);
                long value = found == null ? 0 : found;
                assertTrue(before - round * merges <= value && value <= most,
                    "round " + round + ": " + value + " after " + before % merges + " merges");
            }
        });
        try {
            for (int merge = 0; merge < rounds * merges && !reader.isDone(); merge++) {
                store.merge("a", 1L, merge / merges * SIZE.toMillis());
                done.incrementAndGet();
                if (merge % 3 == 0) {
                    flush(store);
                }
            }
        } finally {
            over.set(true);
        }
        reader.get();
        flush(store);
        for (int round = 0; round < rounds; round++) {
            assertEquals(merges, store.fetch("a", round * SIZE.toMillis()), "round " + round);
        }
        store.close();
    }

    // The reader writes in pieces, and merges and folds come between them.
    @Test
    void aReaderOfManyWindowsInAnotherThreadSeesEachMergeOnce() throws Exception {
        int keys = 20_000;
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        AtomicLong done = new AtomicLong();
        AtomicBoolean over = new AtomicBoolean();
        CompletableFuture<Void> reader = CompletableFuture.runAsync(() -> {
            for (int reads = 0; reads == 0 || !over.get(); reads++) {
                long before = done.get();
                long found = sum(store);
                long after = done.get() + 1;
                assertTrue(before <= found && found <= after,
                    found + " merges between " + before + " and " + after);
            }
        });
        try {
            for (int key = 0; key < keys && !reader.isDone(); key++) {
                store.merge("key" + key, 1L, 20_000);
                done.incrementAndGet();
                if (key % 7000 == 0) {
                    flush(store);
                }
            }
        } finally {
            over.set(true);
        }
        reader.get();
        flush(store);
        assertEquals(keys, sum(store));
        store.close();
    }

    private static long sum(MergeWindowStore<String, Long> store) {
        long sum = 0;
        try (var all = store.all()) {
            while (all.hasNext()) {
                sum += all.next().value;
            }
        }
        return sum;
    }

    /** Reads a window of {@code a} by its start, or as one of a range. */
    private static Long read(MergeWindowStore<String, Long> store, long start, boolean isAlone) {
        if (isAlone) {
            return store.fetch("a", start);
        }
        Instant time = Instant.ofEpochMilli(start);
        try (var found = store.fetch("a", time, time)) {
            return found.hasNext() ? found.next().value : null;
        }
    }

    @Test
    void manyWindowsOfManyKeysFoldInChunks() {
        LoggingContext context = context();
        MergeWindowStore<String, Long> store = open(context, "sum");
        List<Long> starts = Stream.iterate(0L, start -> start + SIZE.toMillis()).limit(5)
            .toList();
        Set<String> keys = Stream.iterate(0, key -> key + 1).limit(3000).map(key -> "key" + key)
            .collect(Collectors.toSet());
        List<String> twice = new ArrayList<>(keys);
        twice.addAll(keys);
        twice.forEach(key -> store.merge(key, 1L, starts));
        flush(store);
        int windows = keys.size() * starts.size();
        assertTrue(foldGets(context) < 0.01 * windows, foldGets(context) + " windows were read");
        assertEquals(windows, context.log().size());
        assertEquals(2L * windows, sum(store));
        store.close();
    }
}
