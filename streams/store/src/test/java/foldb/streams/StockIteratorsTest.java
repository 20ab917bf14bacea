package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Iterators of window and session stores, at the edges of their lives, beside the stock ones. */
class StockIteratorsTest {
    private static final Duration RETENTION = Duration.ofMillis(150_000);
    private static final Duration SIZE = Duration.ofMillis(10_000);
    private static final Bytes KEY = Bytes.wrap(new byte[] {1});

    @TempDir
    Path directory;

    private BothStores<WindowStore<Bytes, byte[]>> windows() throws Exception {
        return new BothStores<>(directory,
            Stores.persistentWindowStore("w", RETENTION, SIZE, false)::get,
            FoldbStores.windowStore("w", RETENTION, SIZE, false)::get);
    }

    private BothStores<SessionStore<Bytes, byte[]>> sessions() throws Exception {
        return new BothStores<>(directory, Stores.persistentSessionStore("s", RETENTION)::get,
            FoldbStores.sessionStore("s", RETENTION)::get);
    }

    @Test
    void anIteratorSeesWindowsPutBeforeItsFirstUse() throws Exception {
        try (BothStores<WindowStore<Bytes, byte[]>> both = windows()) {
            both.write(store -> store.put(KEY, new byte[] {1}, 0));
            for (final WindowStore<Bytes, byte[]> store : List.of(both.stock(), both.ours())) {
                final KeyValueIterator<Windowed<Bytes>, byte[]> all = store.all();
                store.put(KEY, new byte[] {2}, 10_000);
                assertEquals(2, BothStores.drain(all).size(), store.getClass().getName());
            }
        }
    }

    @Test
    void anIteratorSeesSessionsPutBeforeItsFirstUse() throws Exception {
        final Bytes other = Bytes.wrap(new byte[] {2});
        try (BothStores<SessionStore<Bytes, byte[]>> both = sessions()) {
            both.write(store -> store.put(session(other, 0), new byte[] {1}));
            both.write(store -> store.put(session(other, 80_000), new byte[] {1}));
            both.write(store -> store.put(session(KEY, 10), new byte[] {1}));
            for (final SessionStore<Bytes, byte[]> store : List.of(both.stock(), both.ours())) {
                // The key's session moves to an interval that had no session of the key.
                final KeyValueIterator<Windowed<Bytes>, byte[]> moving = store.fetch(KEY);
                store.remove(session(KEY, 10));
                store.put(session(KEY, 80_000), new byte[] {2});
                final String name = store.getClass().getName();
                assertEquals(1, BothStores.drain(moving).size(), name);
            }
        }
    }

    private static Windowed<Bytes> session(final Bytes key, final long end) {
        return new Windowed<>(key, new SessionWindow(0, end));
    }

    @Test
    void aClosedWindowStoreHasNoMoreEntries() throws Exception {
        final BothStores<WindowStore<Bytes, byte[]>> both = windows();
        both.write(store -> store.put(KEY, new byte[] {1}, 0));
        both.write(store -> store.put(KEY, new byte[] {1}, 140_000));
        for (final WindowStore<Bytes, byte[]> store : List.of(both.stock(), both.ours())) {
            final var used = store.fetchAll(0, 150_000);
            final var unused = store.fetchAll(0, 150_000);
            assertTrue(used.hasNext());
            used.next();
            store.close();
            assertFalse(used.hasNext(), store.getClass().getName());
            assertFalse(unused.hasNext(), store.getClass().getName());
            assertThrows(NoSuchElementException.class, used::next);
            used.close();
        }
    }

    @Test
    void aClosedSessionStoreHasNoMoreEntries() throws Exception {
        final BothStores<SessionStore<Bytes, byte[]>> both = sessions();
        both.write(store -> store.put(
            new Windowed<>(KEY, new SessionWindow(0, 10)), new byte[] {1}));
        both.write(store -> store.put(
            new Windowed<>(KEY, new SessionWindow(20, 30)), new byte[] {1}));
        for (final SessionStore<Bytes, byte[]> store : List.of(both.stock(), both.ours())) {
            final var entries = store.findSessions(KEY, 0, 100);
            assertTrue(entries.hasNext());
            entries.next();
            store.close();
            assertFalse(entries.hasNext(), store.getClass().getName());
            assertThrows(NoSuchElementException.class, entries::next);
            entries.close();
        }
    }
}
