package foldb.streams.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DatabaseTest {
    private static final Options PLAIN = new Options(null, false, 32 << 20);

    @TempDir
    Path directory;

    private Database open() {
        return Database.open(directory.resolve("store"), PLAIN);
    }

    private static byte[] bytes(final String text) {
        return text.getBytes(UTF_8);
    }

    private static List<String> keys(final Cursor cursor) {
        final List<String> keys = new ArrayList<>();
        while (cursor.next()) {
            keys.add(new String(cursor.key(), UTF_8));
        }
        return keys;
    }

    @Test
    void aReopenedDatabaseHasItsEntriesOffsetsAndPosition() {
        try (Database database = open()) {
            database.put(bytes("a"), bytes("1"));
            database.put(bytes("b"), new byte[100_000]);
            database.put(bytes("c"), bytes("3"));
            database.put(bytes("c"), null);
            database.commit(Map.of("topic-0", 42L, "topic-1", -4L), bytes("position"));
        }
        try (Database database = open()) {
            assertArrayEquals(bytes("1"), database.get(bytes("a")));
            assertArrayEquals(new byte[100_000], database.get(bytes("b")));
            assertNull(database.get(bytes("c")));
            assertEquals(42L, database.offset("topic-0"));
            assertEquals(-4L, database.offset("topic-1"));
            assertNull(database.offset("topic-2"));
            assertArrayEquals(bytes("position"), database.position());
            assertEquals(2, database.approximateEntries());
        }
    }

    @Test
    void aCommitForgetsOneOffsetOrAll() {
        try (Database database = open()) {
            database.commit(Map.of("a", 1L, "b", 2L), null);
            final Map<String, Long> one = new HashMap<>();
            one.put("a", null);
            database.commit(one, null);
            assertNull(database.offset("a"));
            assertEquals(2L, database.offset("b"));
            database.commit(Map.of(), null);
            assertNull(database.offset("b"));
        }
    }

    @Test
    void readsAndWritesReturnWhatTheStoreHeldBefore() {
        try (Database database = open()) {
            assertNull(database.putIfAbsent(bytes("a"), bytes("1")));
            assertArrayEquals(bytes("1"), database.putIfAbsent(bytes("a"), bytes("2")));
            assertNull(database.putIfAbsent(bytes("b"), null));
            assertArrayEquals(bytes("1"), database.delete(bytes("a")));
            assertNull(database.delete(bytes("a")));
        }
    }

    @Test
    void aBatchIsWrittenAndSeveralKeysAreRead() {
        try (Database database = open()) {
            final WriteBuffer batch = new WriteBuffer();
            for (int i = 0; i < 1000; i++) {
                batch.put(bytes("key" + i), bytes("value" + i));
            }
            batch.put(bytes("key7"), null);
            assertEquals(1001, batch.size());
            database.write(batch);
            batch.clear();
            assertEquals(0, batch.size());
            database.write(batch);
            final byte[][] values =
                database.getAll(List.of(bytes("key999"), bytes("key7"), bytes("key0")));
            assertArrayEquals(bytes("value999"), values[0]);
            assertNull(values[1]);
            assertArrayEquals(bytes("value0"), values[2]);
            assertEquals(3, database.statistics().gets());
        }
    }

    @Test
    void cursorsWalkRangesBothWaysAndSeeTheirMoment() {
        try (Database database = open()) {
            final List<String> all = new ArrayList<>();
            for (int i = 1000; i < 3000; i++) {
                all.add("" + i);
                database.put(bytes("" + i), bytes("v" + i));
            }
            final KeyRange everything = new KeyRange(null, null);
            try (Cursor cursor = database.cursor(false, everything)) {
                database.deleteRange(bytes("1000"), bytes("2999"));
                assertArrayEquals(bytes("1000"), cursor.peekKey());
                assertTrue(cursor.next());
                assertArrayEquals(bytes("1001"), cursor.peekKey());
                assertArrayEquals(bytes("v1000"), cursor.value());
                final List<String> rest = keys(cursor);
                assertEquals(all.subList(1, 2000), rest);
                assertNull(cursor.peekKey());
                assertFalse(cursor.next());
                assertEquals(1, database.openCursors());
            }
            assertEquals(0, database.openCursors());
            database.put(bytes("2"), bytes("x"));
            try (Cursor cursor = database.cursor(true, new KeyRange(bytes("1"), bytes("2")),
                new KeyRange(bytes("2"), bytes("3")))) {
                assertEquals(List.of("2999", "2"), keys(cursor));
            }
        }
    }

    @Test
    void aPeekAtAPageEndKeepsTheCurrentEntry() {
        try (Database database = open()) {
            for (int i = 1000; i < 2000; i++) {
                database.put(bytes("" + i), bytes("v" + i));
            }
            try (Cursor cursor = database.cursor(false, new KeyRange(null, null))) {
                for (int i = 1000; i < 2000; i++) {
                    assertTrue(cursor.next());
                    final byte[] peeked = cursor.peekKey();
                    assertEquals(i == 1999, peeked == null);
                    assertArrayEquals(bytes("" + i), cursor.key());
                    assertArrayEquals(bytes("v" + i), cursor.value());
                }
                assertFalse(cursor.next());
                assertThrows(IllegalStateException.class, cursor::key);
            }
        }
    }

    @Test
    void aClosedDatabaseThrowsAndClosesItsCursors() {
        final Database database = open();
        database.put(bytes("a"), bytes("1"));
        final Cursor cursor = database.cursor(false, new KeyRange(null, null));
        database.close();
        database.close();
        cursor.close();
        assertTrue(assertThrows(FoldbException.class, () -> database.get(bytes("a"))).isClosed());
        assertTrue(assertThrows(FoldbException.class, cursor::next).isClosed());
        assertTrue(assertThrows(FoldbException.class,
            () -> database.cursor(false, new KeyRange(null, null))).isClosed());
    }

    @Test
    void badOpensAndArgumentsThrowOneClearError() {
        try (Database database = open()) {
            final FoldbException locked = assertThrows(FoldbException.class, this::open);
            assertEquals("Locked", locked.kind());
            assertTrue(locked.getMessage().contains(directory.toString()), locked.getMessage());
            final FoldbException noKey =
                assertThrows(FoldbException.class, () -> database.get(null));
            assertEquals("key cannot be null", noKey.getMessage());
        }
        final FoldbException unknown = assertThrows(FoldbException.class, () -> Database.open(
            directory.resolve("other"), new Options("median", false, 32 << 20)));
        assertTrue(unknown.getMessage().contains("'median'"), unknown.getMessage());
        final FoldbException tooLittle = assertThrows(FoldbException.class, () -> Database.open(
            directory.resolve("other"), new Options(null, false, 1)));
        assertTrue(tooLittle.getMessage().contains("memory_budget"), tooLittle.getMessage());
    }
}
