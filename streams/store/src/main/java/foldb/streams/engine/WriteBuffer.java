package foldb.streams.engine;

import java.util.Objects;

/**
 * Writes that {@link Database#write} applies together. One thread at a time may use it. It keeps
 * its memory when it is cleared.
 */
public final class WriteBuffer {
    private static final int CAPACITY = 1 << 10;
    private static final int PUT = 0;
    private static final int MERGE = 1;

    private final Packed packed = new Packed(CAPACITY);
    private int size;

    /** Makes an empty buffer. */
    public WriteBuffer() {
    }

    /**
     * Adds a put.
     *
     * @param key the key
     * @param value the value; null deletes the key
     */
    public void put(final byte[] key, final byte[] value) {
        Objects.requireNonNull(key, "key cannot be null");
        packed.kind(PUT).entry(key, value);
        size += 1;
    }

    /**
     * Adds a merge.
     *
     * @param key the key
     * @param operand the operand
     */
    public void merge(final byte[] key, final byte[] operand) {
        Objects.requireNonNull(key, "key cannot be null");
        Objects.requireNonNull(operand, "operand cannot be null");
        packed.kind(MERGE).entry(key, operand);
        size += 1;
    }

    /**
     * Returns the number of writes.
     *
     * @return the number of puts, deletes and merges
     */
    public int size() {
        return size;
    }

    /**
     * Returns the size of the writes in bytes.
     *
     * @return the bytes of keys, values and operands with their framing
     */
    public int byteSize() {
        return packed.length();
    }

    /** Removes all writes, to fill the buffer again. */
    public void clear() {
        packed.clear();
        size = 0;
    }

    byte[] bytes() {
        return packed.bytes();
    }
}
