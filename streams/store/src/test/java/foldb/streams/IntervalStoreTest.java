package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.engine.Cursor;
import foldb.streams.engine.KeyRange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.internals.SessionKeySchema;
import org.apache.kafka.streams.state.internals.WindowKeySchema;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What window and session stores do where a comparison with the stock stores says nothing. */
class IntervalStoreTest {
    private static final Duration RETENTION = Duration.ofMillis(150_000);
    private static final long INTERVAL = 75_000;
    private static final Bytes KEY = Bytes.wrap(new byte[] {'k'});

    @TempDir
    Path directory;

    private TaskContext task;

    @BeforeEach
    void startTask() {
        task = new TaskContext(directory);
    }

    private FoldbWindowStore windows(final FoldbWindowStore.Order order) {
        return task.open((FoldbWindowStore) new FoldbWindowStoreSupplier(
            "w", RETENTION, Duration.ofSeconds(10), false, true, order).get());
    }

    private static byte[] value(final int number) {
        return new byte[] {(byte) number};
    }

    private static List<Long> storedIntervals(final IntervalStore store) {
        final List<Long> intervals = new ArrayList<>();
        try (Cursor cursor = store.database().cursor(false, new KeyRange(null, null))) {
            while (cursor.next()) {
                intervals.add(KeyLayout.interval(cursor.key()));
            }
        }
        return intervals;
    }

    @Test
    void anExpiredIntervalLeavesTheDatabase() {
        for (final FoldbWindowStore.Order order : FoldbWindowStore.Order.values()) {
            task = new TaskContext(directory.resolve(order.toString()));
            assertTrue(directory.resolve(order.toString()).toFile().mkdir());
            try (Closing<FoldbWindowStore> opened = new Closing<>(windows(order))) {
                final FoldbWindowStore store = opened.store();
                final int entries = order == FoldbWindowStore.Order.BY_KEY ? 1 : 2;
                for (long interval = 0; interval < 6; interval++) {
                    store.put(KEY, value(1), interval * INTERVAL);
                }
                assertEquals(3 * entries, storedIntervals(store).size());
                assertEquals(3L, storedIntervals(store).get(0));
                store.put(KEY, value(1), 0);
                assertEquals(1.0, task.dropped());
                store.put(KEY, value(1), 100 * INTERVAL);
                assertEquals(entries, storedIntervals(store).size());
            }
        }
    }

    @Test
    void aRestoredBatchExpiresIntervals() {
        try (Closing<FoldbWindowStore> opened =
                new Closing<>(windows(FoldbWindowStore.Order.BY_TIME))) {
            final FoldbWindowStore store = opened.store();
            store.put(KEY, value(1), 0);
            final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (long interval = 5; interval >= 0; interval--) {
                final Bytes key = WindowKeySchema.toStoreKeyBinary(KEY, interval * INTERVAL, 0);
                records.add(new ConsumerRecord<>("log", 0, 5 - interval, key.get(), value(2)));
            }
            task.restore(records);
            assertEquals(List.of(3L, 3L, 4L, 4L, 5L, 5L), storedIntervals(store));
            assertEquals(0.0, task.dropped());
        }
    }

    @Test
    void aReopenedStoreKnowsItsIntervals() {
        final FoldbWindowStore first = windows(FoldbWindowStore.Order.BY_KEY);
        for (long interval = 3; interval < 6; interval++) {
            first.put(KEY, value((int) interval), interval * INTERVAL);
        }
        first.close();
        try (Closing<FoldbWindowStore> opened =
                new Closing<>(windows(FoldbWindowStore.Order.BY_KEY))) {
            assertEquals(3, BothStores.drain(opened.store().all()).size());
            opened.store().put(KEY, value(7), 7 * INTERVAL);
            assertEquals(List.of(5L, 7L), storedIntervals(opened.store()));
        }
    }

    // An interval knows the keys that it may have only if it saw all of them come.
    @Test
    void sessionsAreFoundWhereverTheyComeFrom() {
        final FoldbSessionStore first = sessions();
        put(first, "a", 1_000);
        assertEquals(1, found(first, "a"));
        assertTrue(holding(first, "b").isEmpty());
        task.restore(List.of(new ConsumerRecord<>("log", 0, 0,
            SessionKeySchema.toBinary(session("b", 2_000)).get(), value(2))));
        assertEquals(1, found(first, "a"));
        assertEquals(1, found(first, "b"));
        put(first, "c", 3_000);
        assertEquals(1, found(first, "c"));
        first.close();
        try (Closing<FoldbSessionStore> opened = new Closing<>(sessions())) {
            final FoldbSessionStore store = opened.store();
            put(store, "d", 4_000);
            put(store, "a", INTERVAL + 1);
            assertEquals(2, found(store, "a"));
            for (final String key : List.of("b", "c", "d")) {
                assertEquals(1, found(store, key), key);
            }
            // The first interval was there at the open. The second one has seen its keys come.
            assertEquals(List.of(0L), holding(store, "b"));
            store.remove(session("a", INTERVAL + 1));
            assertEquals(1, found(store, "a"));
        }
    }

    // The writer puts a session of a key into an interval without the key, and then removes the
    // other one. A reader that asked before, and reads after, must look again.
    @Test
    void aReaderFindsASessionThatMovesToAnotherInterval() {
        final int keys = 20_000;
        try (Closing<FoldbSessionStore> opened = new Closing<>(sessions())) {
            final FoldbSessionStore store = opened.store();
            put(store, "other", 1_000);
            put(store, "other", INTERVAL + 1_000);
            final AtomicInteger moving = new AtomicInteger();
            put(store, "0", 1_000);
            final CompletableFuture<Void> reader = CompletableFuture.runAsync(() -> {
                for (int key = moving.get(); key < keys; key = moving.get()) {
                    assertTrue(found(store, String.valueOf(key)) > 0, "key " + key);
                }
            });
            for (int key = 0; key < keys && !reader.isDone(); key++) {
                put(store, String.valueOf(key + 1), 1_000);
                put(store, String.valueOf(key), INTERVAL + 1_000);
                store.remove(session(String.valueOf(key), 1_000));
                moving.set(key + 1);
            }
            moving.set(keys);
            reader.join();
        }
    }

    private static List<Long> holding(final FoldbSessionStore store, final String key) {
        return store.intervals().holding(key(key), store.intervals().between(0, 9));
    }

    private FoldbSessionStore sessions() {
        return task.open(
            (FoldbSessionStore) new FoldbSessionStoreSupplier("s", RETENTION, false).get());
    }

    private static Bytes key(final String text) {
        return Bytes.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static Windowed<Bytes> session(final String key, final long time) {
        return new Windowed<>(key(key), new SessionWindow(time, time));
    }

    private static void put(final FoldbSessionStore store, final String key, final long time) {
        store.put(session(key, time), value(1));
    }

    private static int found(final FoldbSessionStore store, final String key) {
        return BothStores.drain(store.findSessions(key(key), 0, Long.MAX_VALUE)).size();
    }

    // A key may end in bytes that look like the start of a time, as far as zeros go.
    @Test
    void aKeyNeverShowsTheWindowsOfAnotherKey() {
        final Random random = new Random(11);
        try (Closing<FoldbWindowStore> opened =
                new Closing<>(windows(FoldbWindowStore.Order.BY_KEY))) {
            final FoldbWindowStore store = opened.store();
            final TreeMap<Bytes, TreeMap<Long, byte[]>> model = new TreeMap<>();
            for (int step = 0; step < 1_000; step++) {
                final Bytes key = zeroKey(random);
                final long time = random.nextInt(3 * (int) INTERVAL / 2);
                store.put(key, value(step), time);
                model.computeIfAbsent(key, absent -> new TreeMap<>()).put(time, value(step));
            }
            for (int step = 0; step < 300; step++) {
                final Bytes from = zeroKey(random);
                final Bytes to = zeroKey(random);
                final long start = random.nextInt((int) INTERVAL);
                final long end = start + random.nextInt((int) INTERVAL);
                assertEquals(
                    model.getOrDefault(from, new TreeMap<>()).subMap(start, true, end, true).size(),
                    BothStores.drain(store.fetch(from, start, end)).size());
                final int found = BothStores.drain(store.fetch(from, to, start, end)).size();
                assertEquals(from.compareTo(to) > 0 ? 0 : model.subMap(from, true, to, true)
                    .values().stream()
                    .mapToInt(windows -> windows.subMap(start, true, end, true).size())
                    .sum(), found);
            }
        }
    }

    private static Bytes zeroKey(final Random random) {
        final byte[] key = new byte[1 + random.nextInt(4)];
        for (int i = 0; i < key.length; i++) {
            key[i] = (byte) (random.nextInt(3) == 0 ? random.nextInt(3) : 0);
        }
        return Bytes.wrap(key);
    }

    @Test
    void anIteratorShowsTheStoreAsOfItsFirstUse() {
        try (Closing<FoldbWindowStore> opened =
                new Closing<>(windows(FoldbWindowStore.Order.BY_KEY))) {
            final WindowStore<Bytes, byte[]> store = opened.store();
            store.put(KEY, value(1), 10_000);
            store.put(KEY, value(2), 100_000);
            try (KeyValueIterator<Windowed<Bytes>, byte[]> entries = store.all()) {
                assertTrue(entries.hasNext());
                store.put(KEY, value(3), 20_000);
                store.put(KEY, null, 100_000);
                assertEquals(10_000, entries.next().key.window().start());
                assertEquals(2, entries.next().value[0]);
                assertFalse(entries.hasNext());
                assertThrows(NoSuchElementException.class, entries::next);
                assertThrows(NoSuchElementException.class, entries::peekNextKey);
            }
            assertEquals(2, BothStores.drain(store.all()).size());
        }
    }

    @Test
    void anIteratorLeavesOutWhatExpiresMeanwhile() {
        try (Closing<FoldbWindowStore> opened =
                new Closing<>(windows(FoldbWindowStore.Order.BY_KEY))) {
            final WindowStore<Bytes, byte[]> store = opened.store();
            store.put(KEY, value(1), 10_000);
            store.put(KEY, value(2), 100_000);
            store.put(KEY, value(3), 150_000);
            try (KeyValueIterator<Windowed<Bytes>, byte[]> entries = store.all()) {
                assertEquals(1, entries.next().value[0]);
                store.put(KEY, value(4), 310_000);
                assertEquals(3, entries.next().value[0]);
                assertFalse(entries.hasNext());
            }
        }
    }

    @Test
    void aClosedStoreAndItsIteratorsSaySo() {
        final FoldbWindowStore store = windows(FoldbWindowStore.Order.BY_KEY);
        for (int i = 0; i < 1_000; i++) {
            store.put(KEY, value(i), i);
        }
        final KeyValueIterator<Windowed<Bytes>, byte[]> closed = store.all();
        assertTrue(closed.hasNext());
        closed.close();
        assertFalse(closed.hasNext());
        final KeyValueIterator<Windowed<Bytes>, byte[]> open = store.all();
        assertNotNull(open.next());
        store.close();
        assertFalse(open.hasNext());
        assertFalse(store.isOpen());
        assertThrows(InvalidStateStoreException.class, () -> store.put(KEY, value(1), 1));
        assertThrows(InvalidStateStoreException.class, () -> store.fetch(KEY, 1));
        assertThrows(InvalidStateStoreException.class, () -> store.fetch(KEY, 1, 2));
        assertThrows(InvalidStateStoreException.class, store::all);
        store.close();
    }

    @Test
    void aRemovedSessionIsGoneInBothOrders() {
        final FoldbSessionStoreSupplier supplier =
            new FoldbSessionStoreSupplier("s", RETENTION, true);
        try (Closing<FoldbSessionStore> opened =
                new Closing<>(task.open((FoldbSessionStore) supplier.get()))) {
            final FoldbSessionStore store = opened.store();
            final Windowed<Bytes> session = new Windowed<>(KEY, new SessionWindow(5, 10));
            store.put(session, value(1));
            assertEquals(1, BothStores.drain(store.findSessions(0, 20)).size());
            store.remove(session);
            assertNull(store.fetchSession(KEY, 5, 10));
            assertTrue(storedIntervals(store).isEmpty());
            // The stock store finds nothing here: its bound overflows.
            store.put(session, value(2));
            assertEquals(1, BothStores.drain(store.findSessions(0, Long.MAX_VALUE)).size());
        }
    }

    /** Closes a store at the end of a block. */
    private record Closing<S extends IntervalStore>(S store) implements AutoCloseable {
        @Override
        public void close() {
            store.close();
        }
    }
}
