package foldb.streams.engine;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An open database: the data of one store, its offsets and its position. This class is internal to
 * foldb-streams.
 *
 * <p>All threads may call it. {@link #putIfAbsent} and {@link #delete} are atomic only if one
 * thread at a time writes. Each call throws {@link FoldbException}. After {@link #close} every
 * other call throws one whose {@link FoldbException#isClosed} is true.
 */
public final class Database implements AutoCloseable {
    /** Frees what belongs to unreachable objects; cursors use it too. */
    static final Cleaner CLEANER = Cleaner.create();

    private final long handle;
    private final Set<Cursor> cursors = ConcurrentHashMap.newKeySet();
    private volatile boolean isOpen = true;

    private Database(final long handle) {
        this.handle = handle;
        // The native store is small once it is closed. It is freed when no call can use it.
        CLEANER.register(this, () -> Native.free(handle));
    }

    /**
     * Opens the database in a directory, and creates it if there is none.
     *
     * @param directory the directory; its parent exists
     * @param options the options
     * @return the open database
     * @throws FoldbException if the directory is in use, the operator is unknown or another one
     *         than at the first open, files are damaged, or the platform has no native library
     */
    public static Database open(final Path directory, final Options options) {
        NativeLibrary.load();
        final byte[] path = directory.toAbsolutePath().toString().getBytes(pathCharset());
        final String operator = options.mergeOperator();
        return new Database(Native.open(path, operator == null ? null : utf8(operator),
            options.forgetOffsetsOnWrite(), options.memoryBytes()));
    }

    private static Charset pathCharset() {
        final String name = System.getProperty("sun.jnu.encoding");
        return name != null && Charset.isSupported(name)
            ? Charset.forName(name) : StandardCharsets.UTF_8;
    }

    private static byte[] utf8(final String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Reads a key.
     *
     * @param key the key
     * @return the value; null if the key is absent
     */
    public byte[] get(final byte[] key) {
        try {
            return Native.get(handle, key);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Reads several keys at one moment.
     *
     * @param keys the keys, in any order
     * @return the values in the order of the keys; null for an absent key
     */
    public byte[][] getAll(final List<byte[]> keys) {
        final Packed packed = new Packed(32 * keys.size() + Packed.HEADER);
        for (final byte[] key : keys) {
            packed.entry(key, null);
        }
        final byte[] answer;
        try {
            answer = Native.getAll(handle, packed.bytes(), packed.length());
        } finally {
            Reference.reachabilityFence(this);
        }
        final byte[][] values = new byte[keys.size()][];
        int at = 0;
        for (int i = 0; i < values.length; i++) {
            final int length = Packed.intAt(answer, at + Integer.BYTES);
            at += Packed.HEADER;
            if (length != Packed.NONE) {
                values[i] = Arrays.copyOfRange(answer, at, at + length);
                at += length;
            }
        }
        return values;
    }

    /**
     * Sets the value of a key.
     *
     * @param key the key
     * @param valueOrNull the value; null deletes the key
     */
    public void put(final byte[] key, final byte[] valueOrNull) {
        try {
            Native.put(handle, key, valueOrNull);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Sets the value of a key that has none.
     *
     * @param key the key
     * @param value the value; null writes nothing
     * @return the value before; null if the key was absent
     */
    public byte[] putIfAbsent(final byte[] key, final byte[] value) {
        try {
            return Native.putIfAbsent(handle, key, value);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Deletes a key.
     *
     * @param key the key
     * @return the value before; null if the key was absent
     */
    public byte[] delete(final byte[] key) {
        try {
            return Native.delete(handle, key);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Checks that the database's operator can fold an operand. The exception's message completes
     * "an operand must be".
     *
     * @param operand the operand
     */
    public void checkOperand(final byte[] operand) {
        try {
            Native.checkOperand(handle, operand);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Merges an operand into a key, and reads nothing.
     *
     * @param key the key
     * @param operand an operand of the database's operator
     */
    public void merge(final byte[] key, final byte[] operand) {
        try {
            Native.merge(handle, key, operand);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Applies the writes of a buffer together: after a crash, all or none of them are there.
     *
     * @param batch the writes; it stays as it is
     */
    public void write(final WriteBuffer batch) {
        try {
            Native.write(handle, batch.bytes(), batch.byteSize());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Deletes a range of keys with one small write.
     *
     * @param from the first key; null for the smallest
     * @param toExclusive the first key that stays; null for no bound
     */
    public void deleteRange(final byte[] from, final byte[] toExclusive) {
        try {
            Native.deleteRange(handle, from, toExclusive);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Opens a cursor over ranges of keys, one after the other. The caller closes it; the close of
     * the database closes it too.
     *
     * @param reverse whether to walk the last range first, and each range from its end
     * @param ranges the ranges
     * @return a cursor that sees the database as of this call
     */
    public Cursor cursor(final boolean reverse, final KeyRange... ranges) {
        final Packed packed = new Packed(64 * ranges.length);
        final byte[] none = new byte[0];
        for (final KeyRange range : ranges) {
            packed.entry(none, range.from()).entry(none, range.toExclusive());
        }
        final Cursor cursor;
        try {
            cursor = new Cursor(this, Native.cursor(handle, reverse, packed.toArray()));
        } finally {
            Reference.reachabilityFence(this);
        }
        cursors.add(cursor);
        if (!isOpen) {
            cursor.close();
        }
        return cursor;
    }

    /** Removes a closed cursor from those that the close of the database closes. */
    void forget(final Cursor cursor) {
        cursors.remove(cursor);
    }

    /**
     * Returns the number of open cursors.
     *
     * @return the cursors that are not closed yet
     */
    public int openCursors() {
        return cursors.size();
    }

    /**
     * Stores offsets and the position of the data in one atomic write.
     *
     * @param offsets the offset of each partition; null forgets one; an empty map forgets all
     * @param position the position; null leaves the stored one
     */
    public void commit(final Map<String, Long> offsets, final byte[] position) {
        final Packed packed = new Packed(64 * offsets.size());
        offsets.forEach((partition, offset) ->
            packed.entry(utf8(partition), offset == null ? null : Packed.ofLong(offset)));
        try {
            Native.commit(handle, packed.toArray(), position);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Returns the stored offset of a partition.
     *
     * @param partition the name of the partition
     * @return the offset; null if none is stored
     */
    public Long offset(final String partition) {
        Objects.requireNonNull(partition, "partition cannot be null");
        try {
            final byte[] stored = Native.offset(handle, utf8(partition));
            return stored == null ? null : Packed.longAt(stored, 0);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Returns the stored position.
     *
     * @return the position; null if none is stored
     */
    public byte[] position() {
        try {
            return Native.position(handle);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Estimates the number of entries.
     *
     * @return the estimate; it is not negative
     */
    public long approximateEntries() {
        try {
            return Native.approximateEntries(handle);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Returns statistics.
     *
     * @return the statistics at this moment
     */
    public Statistics statistics() {
        try {
            return Statistics.of(Native.statistics(handle));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Counts memory that the caller holds for this database in the budget that its databases
     * share. It counts until the close of the database.
     *
     * @param bytes all bytes that the caller holds now
     */
    public void reserve(final long bytes) {
        try {
            Native.reserve(handle, bytes);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Closes the database and its cursors. Closing twice is no error. */
    @Override
    public void close() {
        isOpen = false;
        for (final Cursor cursor : cursors) {
            cursor.close();
        }
        try {
            Native.close(handle);
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
