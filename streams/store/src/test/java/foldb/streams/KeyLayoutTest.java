package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.engine.KeyRange;
import java.util.Arrays;
import java.util.Random;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.internals.SessionKeySchema;
import org.apache.kafka.streams.state.internals.WindowKeySchema;
import org.junit.jupiter.api.Test;

class KeyLayoutTest {
    private static final int KEYS = 20_000;

    private static Bytes key(final Random random) {
        final byte[] key = new byte[random.nextInt(4)];
        for (int i = 0; i < key.length; i++) {
            key[i] = (byte) (random.nextInt(4) - 2);
        }
        return Bytes.wrap(key);
    }

    private static long time(final Random random) {
        return random.nextLong() >>> (1 + random.nextInt(63));
    }

    @Test
    void aStoredKeyReadsBack() {
        final Random random = new Random(1);
        for (int i = 0; i < KEYS; i++) {
            final long interval = random.nextInt(100) - 50;
            for (final KeyLayout layout : KeyLayout.values()) {
                final long rest = layout == KeyLayout.WINDOW ? random.nextInt() : time(random);
                final TimedKey timed = new TimedKey(key(random), time(random), rest);
                for (final KeyOrder order : KeyOrder.values()) {
                    final byte[] stored = layout.encode(order, interval, timed);
                    assertEquals(timed, layout.decode(order, stored));
                    assertEquals(interval, KeyLayout.interval(stored));
                    assertTrue(Arrays.compareUnsigned(KeyLayout.start(interval), stored) < 0);
                    assertTrue(Arrays.compareUnsigned(stored, KeyLayout.start(interval + 1)) < 0);
                }
            }
        }
    }

    @Test
    void keysOfTheChangelogReadBack() {
        final Bytes key = Bytes.wrap(new byte[] {1, 2, 3});
        final byte[] window = WindowKeySchema.toStoreKeyBinary(key, 77, 5).get();
        assertEquals(new TimedKey(key, 77, 5), KeyLayout.WINDOW.decodeChangelog(window));
        assertEquals(77, KeyLayout.WINDOW.changelogTime(window));
        final byte[] session = SessionKeySchema.toBinary(key, 70, 90).get();
        assertEquals(new TimedKey(key, 90, 70), KeyLayout.SESSION.decodeChangelog(session));
        assertEquals(90, KeyLayout.SESSION.changelogTime(session));
    }

    @Test
    void aRangeHoldsEveryEntryThatItIsAskedFor() {
        final Random random = new Random(2);
        int inside = 0;
        for (int i = 0; i < KEYS; i++) {
            final Bytes from = random.nextInt(5) == 0 ? null : key(random);
            final Bytes to = switch (random.nextInt(5)) {
                case 0 -> null;
                case 1 -> from;
                default -> key(random);
            };
            final long timeFrom = time(random);
            final long timeTo = random.nextInt(5) == 0 ? Long.MAX_VALUE : time(random);
            final Bytes key = random.nextInt(3) == 0 && to != null ? to : key(random);
            final TimedKey timed = new TimedKey(key, time(random), random.nextInt());
            final boolean wanted = timed.time() >= timeFrom && timed.time() <= timeTo
                && (from == null || key.compareTo(from) >= 0)
                && (to == null || key.compareTo(to) <= 0);
            if (!wanted) {
                continue;
            }
            inside++;
            for (final KeyLayout layout : KeyLayout.values()) {
                for (final KeyOrder order : KeyOrder.values()) {
                    final byte[] stored = layout.encode(order, 3, timed);
                    final KeyRange range = KeyLayout.range(order, 3, from, to, timeFrom, timeTo);
                    assertTrue(Arrays.compareUnsigned(range.from(), stored) <= 0);
                    assertTrue(Arrays.compareUnsigned(stored, range.toExclusive()) < 0);
                }
            }
        }
        assertTrue(inside > 500, "some entries lie in their range, found " + inside);
    }

    @Test
    void theRangeOfAKeyLeavesOutOtherTimes() {
        final Bytes key = Bytes.wrap(new byte[] {9});
        final KeyRange range = KeyLayout.range(KeyOrder.BY_KEY, 0, key, key, 100, 200);
        for (final long time : new long[] {0, 99, 201, Long.MAX_VALUE}) {
            final byte[] stored =
                KeyLayout.WINDOW.encode(KeyOrder.BY_KEY, 0, new TimedKey(key, time, 0));
            assertTrue(Arrays.compareUnsigned(stored, range.from()) < 0
                || Arrays.compareUnsigned(stored, range.toExclusive()) >= 0);
        }
    }
}
