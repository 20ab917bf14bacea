package foldb.streams.engine;

/**
 * The native methods. Each throws {@link FoldbException}. Those that need no handle come after a
 * call of {@link NativeLibrary#load}: an exception from an initializer of this class would be
 * told once, and then hidden behind a {@code NoClassDefFoundError}.
 *
 * <p>A caller keeps the object that owns a handle reachable during the call, and holds the lock of
 * a cursor. It never uses a handle that it has freed.
 */
final class Native {
    private Native() {
    }

    static native long open(byte[] directory, byte[] mergeOperator, boolean forgetOffsets,
                            long memoryBytes);

    static native void close(long store);

    static native void free(long store);

    static native byte[] get(long store, byte[] key);

    static native byte[] getAll(long store, byte[] keys, int length);

    static native void put(long store, byte[] key, byte[] value);

    static native byte[] putIfAbsent(long store, byte[] key, byte[] value);

    static native byte[] delete(long store, byte[] key);

    static native void checkOperand(long store, byte[] operand);

    static native void merge(long store, byte[] key, byte[] operand);

    static native void write(long store, byte[] batch, int length);

    static native void deleteRange(long store, byte[] from, byte[] to);

    static native byte[] cursor(long store, boolean reverse, byte[] ranges);

    static native byte[] page(long cursor);

    static native void closeCursor(long cursor);

    static native void commit(long store, byte[] offsets, byte[] position);

    static native byte[] offset(long store, byte[] partition);

    static native byte[] position(long store);

    static native long approximateEntries(long store);

    static native long[] statistics(long store);

    static native void reserve(long store, long bytes);

    static native long[] memory(long memoryBytes);

    static native byte[] sketch(byte[] elements);

    static native long estimate(byte[] sketch);
}
