package foldb.streams;

import foldb.streams.engine.FoldbException;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;

/**
 * Merges of sessions: they grow and unite in memory, and each commit logs, forwards and writes what
 * became of them.
 *
 * <p>A record's session depends on those that are there, so the aggregation has their values, and
 * runs on whole ones. No operator has to match it.
 */
final class SessionMerges extends Merges {
    /** The most bytes of a key and of a value, as in the database. */
    private static final int MAX_KEY_BYTES = 512 << 10;
    private static final int MAX_VALUE_BYTES = 256 << 20;

    private final FoldbSessionStore sessions;
    private final SessionBuffer buffer;
    private final MergedRecords merged;

    /**
     * Makes the merges of a closed store.
     *
     * @param store the store
     * @param sessions the store's database
     * @param foldChunk how many sessions a fold logs, forwards and writes together
     */
    SessionMerges(MergingStore store, FoldbSessionStore sessions, int foldChunk) {
        super(store, sessions, foldChunk, DirtyKeys.Order.BY_RECORD);
        this.sessions = sessions;
        this.buffer = new SessionBuffer(sessions);
        this.merged = new MergedRecords(sessions);
    }

    /** Returns what readers of the store must see before the database has it. */
    SessionBuffer buffer() {
        return buffer;
    }

    /** Returns a key's sessions that end at a time or later and begin at a time or earlier. */
    List<KeyValue<TimedKey, byte[]>> find(Bytes key, long earliestEnd, long latestStart) {
        sessions.checkOpen();
        if (buffer.load(key, earliestEnd, latestStart)) {
            read();
        }
        return buffer.find(key, earliestEnd, latestStart);
    }

    /**
     * Puts a session of a key that {@link #find} was called for, or counts it as dropped if it has
     * expired.
     *
     * @param value the serialized aggregate; {@code null} deletes the session
     */
    void put(TimedKey session, byte[] value) {
        sessions.checkOpen();
        if (!sessions.admits(session)) {
            return;
        }
        merged.note(current());
        if (value == null) {
            remove(session);
            return;
        }
        Bytes stored = stored(session);
        checkLength("key", stored.get().length, MAX_KEY_BYTES);
        checkLength("value", value.length, MAX_VALUE_BYTES);
        buffer.put(session, value);
        merged();
        changed(stored, session.time());
    }

    /** Refuses now what the write of a fold would refuse. */
    private void checkLength(String what, int length, int most) {
        if (length > most) {
            throw sessions.failed("Error while putting key/value into", new FoldbException(
                "TooLarge", "the " + what + " has " + length + " bytes, at most " + most
                    + " are possible"));
        }
    }

    /** Removes a session of a key that {@link #find} was called for, if there is one. */
    void remove(TimedKey session) {
        sessions.intervals().observe(session.time());
        Bytes stored = stored(session);
        if (buffer.remove(session)) {
            changed(stored, session.time());
        } else {
            // Neither the changelog nor a listener has heard of it.
            replaced(stored);
        }
    }

    private Bytes stored(TimedKey session) {
        return Bytes.wrap(sessions.encode(session));
    }

    @Override
    byte[][] read(List<Bytes> keys) {
        merged.written();
        return keys.stream().map(key -> buffer.value(FoldbSessionStore.session(key)))
            .toArray(byte[][]::new);
    }

    @Override
    void checkFolded(Bytes key, byte[] value) {
        if (value != null) {
            // From here on, also if the log fails: one deletion too many does no harm.
            buffer.setLogged(FoldbSessionStore.session(key), true);
        }
    }

    @Override
    boolean deletes(Bytes key) {
        return buffer.isDeleted(FoldbSessionStore.session(key));
    }

    @Override
    void forwarded(List<KeyValue<Bytes, byte[]>> entries) {
        buffer.write(entries.stream().map(entry -> entry.key).toList());
        for (KeyValue<Bytes, byte[]> entry : entries) {
            if (entry.value == null) {
                buffer.setLogged(FoldbSessionStore.session(entry.key), false);
            }
        }
    }

    /** Forgets all sessions: the database and the changelog have them. */
    void folded() {
        buffer.clear();
    }

    /** Readers look at the buffer. */
    @Override
    void write() {
    }

    @Override
    long bufferBytes() {
        return buffer.bytes();
    }

    @Override
    void clearBuffer() {
        buffer.clear();
        merged.clear();
    }

    @Override
    void closeBuffer() {
        clearBuffer();
    }
}
