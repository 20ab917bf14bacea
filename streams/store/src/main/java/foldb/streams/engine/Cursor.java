package foldb.streams.engine;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * Walks entries of a database at one moment. It fetches a page of up to 256 entries at a time. A
 * new cursor stands before the first entry. All threads may use it; the lock of the object orders
 * them.
 *
 * <p>A call that fails moves nothing: after an {@code OutOfMemoryError} the same entry comes next.
 * The native cursor is freed at its end, at the close, or when nothing can use this object.
 */
public final class Cursor implements AutoCloseable {
    private final Database database;
    private final NativeCursor pages;
    /** Frees the native cursor; null if the first page was the last. */
    private final Cleaner.Cleanable freed;
    private byte[] page;
    /** A page that was fetched and is not in use yet, or null. */
    private byte[] fetched;
    /** Where the next entry begins. */
    private int next = Long.BYTES;
    /** Where the current entry begins; 0 if there is none. */
    private int current;
    private boolean isOpen = true;

    Cursor(final Database database, final byte[] firstPage) {
        this.database = database;
        page = firstPage;
        pages = new NativeCursor(Packed.longAt(firstPage, 0));
        freed = pages.handle == 0 ? null : Database.CLEANER.register(this, pages);
    }

    /** The native cursor. It does not know the object that owns it, which may become unreachable. */
    private static final class NativeCursor implements Runnable {
        /** 0 if there are no further pages. */
        private long handle;

        NativeCursor(final long handle) {
            this.handle = handle;
        }

        /** Returns the next page. */
        byte[] next() {
            final byte[] page = Native.page(handle);
            handle = Packed.longAt(page, 0);
            return page;
        }

        @Override
        public void run() {
            if (handle != 0) {
                final long freed = handle;
                handle = 0;
                Native.closeCursor(freed);
            }
        }
    }

    /**
     * Moves to the next entry.
     *
     * @return whether there is one
     * @throws FoldbException if the cursor is closed, or if the entry cannot be read
     */
    public synchronized boolean next() {
        if (!hasNext()) {
            current = 0;
            return false;
        }
        current = next;
        next = valueOffset(current) + Math.max(0, valueLength(current));
        return true;
    }

    /**
     * Returns the key of the next entry without moving to it.
     *
     * @return the key; null after the last entry
     * @throws FoldbException if the cursor is closed, or if the entry cannot be read
     */
    public synchronized byte[] peekKey() {
        return hasNext() ? keyAt(next) : null;
    }

    /**
     * Returns the value of the next entry without moving to it.
     *
     * @return a copy of the value; null after the last entry
     * @throws FoldbException if the cursor is closed, or if the entry cannot be read
     */
    public synchronized byte[] peekValue() {
        return hasNext() ? valueAt(next) : null;
    }

    /**
     * Returns the key of the current entry.
     *
     * @return a copy of the key
     * @throws FoldbException if the cursor is closed
     * @throws IllegalStateException if the cursor stands on no entry
     */
    public synchronized byte[] key() {
        checkCurrent();
        return keyAt(current);
    }

    /**
     * Returns the value of the current entry.
     *
     * @return a copy of the value
     * @throws FoldbException if the cursor is closed
     * @throws IllegalStateException if the cursor stands on no entry
     */
    public synchronized byte[] value() {
        checkCurrent();
        return valueAt(current);
    }

    /** Frees the cursor. Closing twice is no error. */
    @Override
    public synchronized void close() {
        if (isOpen) {
            isOpen = false;
            page = null;
            fetched = null;
            database.forget(this);
            if (freed != null) {
                freed.clean();
            }
        }
    }

    private boolean hasNext() {
        if (!isOpen) {
            throw closed();
        }
        if (next < page.length) {
            return true;
        }
        // A page that may be followed by another one can be empty.
        while (fetched == null || fetched.length == Long.BYTES) {
            if (pages.handle == 0) {
                return false;
            }
            fetched = fetch();
        }
        useFetched();
        return true;
    }

    private byte[] fetch() {
        try {
            return pages.next();
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private void useFetched() {
        if (current == 0) {
            page = fetched;
            next = Long.BYTES;
        } else {
            keepCurrent();
        }
        fetched = null;
    }

    /** Puts the current entry before the entries of a new page: a peek does not move. */
    private void keepCurrent() {
        final int kept = next - current;
        final byte[] joined = new byte[fetched.length + kept];
        System.arraycopy(page, current, joined, Long.BYTES, kept);
        System.arraycopy(fetched, Long.BYTES, joined, Long.BYTES + kept,
            fetched.length - Long.BYTES);
        page = joined;
        current = Long.BYTES;
        next = Long.BYTES + kept;
    }

    private void checkCurrent() {
        if (!isOpen) {
            throw closed();
        }
        if (current == 0) {
            throw new IllegalStateException("the cursor stands on no entry: call next() first");
        }
    }

    private byte[] keyAt(final int entry) {
        final int offset = entry + Packed.HEADER;
        return Arrays.copyOfRange(page, offset, offset + Packed.intAt(page, entry));
    }

    private byte[] valueAt(final int entry) {
        final int offset = valueOffset(entry);
        return Arrays.copyOfRange(page, offset, offset + valueLength(entry));
    }

    private int valueOffset(final int entry) {
        return entry + Packed.HEADER + Packed.intAt(page, entry);
    }

    private int valueLength(final int entry) {
        return Packed.intAt(page, entry + Integer.BYTES);
    }

    private static FoldbException closed() {
        return new FoldbException("Closed", "the cursor was closed");
    }
}
