package foldb.streams.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Entries packed into one array: an optional kind of one byte, the length of the key and of the
 * value as 4 bytes big-endian, key, value. The length -1 stands for no value.
 */
final class Packed {
    /** The bytes of the two lengths. */
    static final int HEADER = 8;

    /** The value length of an entry without a value. */
    static final int NONE = -1;

    private static final byte[] EMPTY = new byte[0];
    private static final VarHandle INT =
        MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG =
        MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private byte[] bytes;
    private int length;

    Packed(final int capacity) {
        bytes = new byte[capacity];
    }

    static int intAt(final byte[] bytes, final int offset) {
        return (int) INT.get(bytes, offset);
    }

    static long longAt(final byte[] bytes, final int offset) {
        return (long) LONG.get(bytes, offset);
    }

    static byte[] ofLong(final long number) {
        final byte[] bytes = new byte[Long.BYTES];
        LONG.set(bytes, 0, number);
        return bytes;
    }

    Packed kind(final int kind) {
        reserve(1);
        bytes[length] = (byte) kind;
        length += 1;
        return this;
    }

    Packed entry(final byte[] key, final byte[] value) {
        final byte[] stored = value == null ? EMPTY : value;
        reserve(HEADER + (long) key.length + stored.length);
        INT.set(bytes, length, key.length);
        INT.set(bytes, length + Integer.BYTES, value == null ? NONE : value.length);
        System.arraycopy(key, 0, bytes, length + HEADER, key.length);
        System.arraycopy(stored, 0, bytes, length + HEADER + key.length, stored.length);
        length += HEADER + key.length + stored.length;
        return this;
    }

    private void reserve(final long more) {
        final long needed = length + more;
        if (needed > bytes.length) {
            if (needed > Integer.MAX_VALUE - 8) {
                throw new FoldbException("InvalidArgument", "a batch of " + needed
                    + " bytes does not fit into one array: write smaller batches");
            }
            bytes = Arrays.copyOf(bytes, (int) Math.min(Integer.MAX_VALUE - 8,
                Math.max(needed, 2L * bytes.length)));
        }
    }

    /** The array; entries end at {@link #length()}. */
    byte[] bytes() {
        return bytes;
    }

    int length() {
        return length;
    }

    byte[] toArray() {
        return Arrays.copyOf(bytes, length);
    }

    void clear() {
        length = 0;
    }
}
