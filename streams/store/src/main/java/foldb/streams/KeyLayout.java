package foldb.streams;

import foldb.streams.engine.KeyRange;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;

/**
 * The bytes of a stored key. All numbers are big-endian:
 *
 * <pre>
 *              8 bytes    1 byte
 *   by key     interval | 1    | key  | time | rest
 *   by time    interval | 0    | time | key  | rest     of a window store
 *              interval | 0    | time | rest | key      of a session store
 * </pre>
 *
 * <p>The time takes 8 bytes. The rest takes 4 bytes in a window store and 8 bytes in a session
 * store. The interval has its sign bit flipped, so that negative intervals come first.
 *
 * <p>All parts but one have a fixed size, so every stored key has exactly one reading. But the
 * bytes of a short key and its time may lie between the bytes of two longer keys. A range from
 * {@link #range} therefore holds every wanted entry, and the reader compares each key it finds.
 *
 * <p>The layout by key, without interval and tag, is the key of the changelog. Within an interval
 * both orders are those of the stores that Kafka Streams brings along.
 */
enum KeyLayout {
    /** The layout of window stores. */
    WINDOW(Integer.BYTES),
    /** The layout of session stores. */
    SESSION(Long.BYTES);

    private static final int PREFIX_BYTES = Long.BYTES + 1;

    private final int restBytes;

    KeyLayout(final int restBytes) {
        this.restBytes = restBytes;
    }

    /** The smallest stored key of an interval. */
    static byte[] start(final long interval) {
        return ByteBuffer.allocate(Long.BYTES).putLong(flipSign(interval)).array();
    }

    /** The interval of a stored key. */
    static long interval(final byte[] stored) {
        return flipSign(ByteBuffer.wrap(stored).getLong());
    }

    /** The stored key of an entry in one of the two orders. */
    byte[] encode(final KeyOrder order, final long interval, final TimedKey timed) {
        final byte[] key = timed.key().get();
        final ByteBuffer stored =
            ByteBuffer.allocate(PREFIX_BYTES + key.length + Long.BYTES + restBytes);
        stored.putLong(flipSign(interval)).put(order.tag);
        if (order == KeyOrder.BY_KEY) {
            stored.put(key).putLong(timed.time());
            putRest(stored, timed.rest());
        } else {
            stored.putLong(timed.time());
            if (this == WINDOW) {
                stored.put(key);
                putRest(stored, timed.rest());
            } else {
                putRest(stored, timed.rest());
                stored.put(key);
            }
        }
        return stored.array();
    }

    /** Reads a stored key of the given order. */
    TimedKey decode(final KeyOrder order, final byte[] stored) {
        if (order == KeyOrder.BY_KEY) {
            return decodeByKey(stored, PREFIX_BYTES);
        }
        final ByteBuffer buffer = ByteBuffer.wrap(stored);
        final long time = buffer.getLong(PREFIX_BYTES);
        final int afterTime = PREFIX_BYTES + Long.BYTES;
        if (this == WINDOW) {
            final int restAt = stored.length - restBytes;
            return new TimedKey(slice(stored, afterTime, restAt), time, rest(buffer, restAt));
        }
        final Bytes key = slice(stored, afterTime + restBytes, stored.length);
        return new TimedKey(key, time, rest(buffer, afterTime));
    }

    /** The key of the changelog for a stored key in the order by key. */
    static byte[] changelogKey(final byte[] stored) {
        return Arrays.copyOfRange(stored, PREFIX_BYTES, stored.length);
    }

    /** Reads the key of a record of the changelog. */
    TimedKey decodeChangelog(final byte[] logged) {
        return decodeByKey(logged, 0);
    }

    /** The time in the key of a record of the changelog. */
    long changelogTime(final byte[] logged) {
        return ByteBuffer.wrap(logged).getLong(logged.length - restBytes - Long.BYTES);
    }

    /**
     * A range of one interval that holds all entries with these keys and times, and maybe others.
     *
     * @param keyFrom the smallest key, or null
     * @param keyTo the largest key, or null
     * @param timeFrom the earliest time
     * @param timeTo the latest time
     */
    static KeyRange range(
            final KeyOrder order,
            final long interval,
            final Bytes keyFrom,
            final Bytes keyTo,
            final long timeFrom,
            final long timeTo) {
        final byte[] prefix =
            ByteBuffer.allocate(PREFIX_BYTES).putLong(flipSign(interval)).put(order.tag).array();
        // No stored time is negative. The bytes of Long.MAX_VALUE + 1 sort after all times.
        final byte[] first = ByteBuffer.allocate(Long.BYTES).putLong(Math.max(0, timeFrom)).array();
        final byte[] end =
            ByteBuffer.allocate(Long.BYTES).putLong(Math.max(timeTo, -1) + 1).array();
        if (order == KeyOrder.BY_TIME) {
            return new KeyRange(concat(prefix, first), concat(prefix, end));
        }
        if (keyFrom != null && keyFrom.equals(keyTo)) {
            final byte[] start = concat(prefix, keyFrom.get());
            return new KeyRange(concat(start, first), concat(start, end));
        }
        final byte[] from = keyFrom == null ? prefix : concat(prefix, keyFrom.get());
        if (keyTo == null) {
            final byte[] next = prefix.clone();
            next[PREFIX_BYTES - 1]++;
            return new KeyRange(from, next);
        }
        return new KeyRange(from, concat(prefix, after(keyTo.get(), end)));
    }

    /**
     * A bound above every key up to {@code keyTo} that is followed by a time below {@code end}.
     *
     * <p>A prefix of {@code keyTo} is a smaller key, but its time may make its stored key larger.
     * The bound is the largest of all prefixes of {@code keyTo} followed by {@code end}.
     */
    private static byte[] after(final byte[] keyTo, final byte[] end) {
        byte[] bound = concat(keyTo, end);
        for (int length = 0; length < keyTo.length; length++) {
            if ((keyTo[length] & 0xFF) <= (end[0] & 0xFF)) {
                final byte[] candidate = concat(Arrays.copyOf(keyTo, length), end);
                if (Arrays.compareUnsigned(candidate, bound) > 0) {
                    bound = candidate;
                }
            }
        }
        return bound;
    }

    private TimedKey decodeByKey(final byte[] stored, final int keyAt) {
        final ByteBuffer buffer = ByteBuffer.wrap(stored);
        final int restAt = stored.length - restBytes;
        final int timeAt = restAt - Long.BYTES;
        final Bytes key = slice(stored, keyAt, timeAt);
        return new TimedKey(key, buffer.getLong(timeAt), rest(buffer, restAt));
    }

    private void putRest(final ByteBuffer stored, final long rest) {
        if (this == WINDOW) {
            stored.putInt((int) rest);
        } else {
            stored.putLong(rest);
        }
    }

    private long rest(final ByteBuffer stored, final int at) {
        return this == WINDOW ? stored.getInt(at) : stored.getLong(at);
    }

    private static Bytes slice(final byte[] bytes, final int from, final int to) {
        return Bytes.wrap(Arrays.copyOfRange(bytes, from, to));
    }

    private static byte[] concat(final byte[] first, final byte[] second) {
        final byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    private static long flipSign(final long interval) {
        return interval ^ Long.MIN_VALUE;
    }
}
