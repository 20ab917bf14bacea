package foldb.streams;

import foldb.streams.engine.WriteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * The sessions of the keys that records have touched since the last fold.
 *
 * <p>A record's session grows the sessions near it: they are removed, and their union is put. Here
 * this happens in memory. For example, with a gap of 5 and a stored session {@code 1-3}, records at
 * 4, 9 and 6 give {@code 1-4}, {@code 1-9} and {@code 1-9}. The fold deletes {@code 1-3} and puts
 * {@code 1-9}; {@code 1-4} never leaves this buffer.
 *
 * <p>The first record of a key reads the sessions that it can extend, and the time up to the next
 * session, unless the store knows that it has none. Records that stay in between read nothing. What
 * this buffer knows of a session replaces what the database has.
 *
 * <p>The database gets nothing before the changelog does. A process that is killed between two
 * commits thus leaves the sessions of the last one, and Streams processes the records again.
 *
 * <p>One stream thread changes sessions, and interactive queries read them from other threads, so
 * each method holds the monitor.
 */
final class SessionBuffer {
    /** An estimate of the memory of a key besides its bytes, and of a session besides its value. */
    private static final int KEY_BYTES = 240;
    private static final int SESSION_BYTES = 320;

    private final FoldbSessionStore store;
    private final Map<Bytes, KeySessions> keys = new HashMap<>();
    private long bytes;

    SessionBuffer(FoldbSessionStore store) {
        this.store = store;
    }

    /** A session of a key. */
    private static final class Session {
        /** The serialized aggregate; {@code null} if the session is removed. */
        private byte[] value;
        /** Whether the changelog may have the session. It has what the database has. */
        private boolean logged;
    }

    /** The sessions of a key that are known. */
    private static final class KeySessions {
        /** In the order of their ends, as the store has them. */
        private final TreeMap<TimedKey, Session> sessions = new TreeMap<>(
            Comparator.comparingLong(TimedKey::time).thenComparingLong(TimedKey::rest));
        /** Each session that ends at {@code from} or later and begins at {@code to} or earlier. */
        private long from = Long.MAX_VALUE;
        private long to = Long.MIN_VALUE;

        private boolean knows(long earliestEnd, long latestStart) {
            return from <= earliestEnd && latestStart <= to;
        }

        private void learn(long earliestEnd, long latestStart) {
            boolean meets = earliestEnd <= to && from <= latestStart;
            from = meets ? Math.min(from, earliestEnd) : earliestEnd;
            to = meets ? Math.max(to, latestStart) : latestStart;
        }
    }

    /**
     * Learns the sessions of a key that end at a time or later and begin at a time or earlier.
     *
     * @return whether that took a read
     */
    synchronized boolean load(Bytes key, long earliestEnd, long latestStart) {
        KeySessions known = keys.get(key);
        if (known != null && known.knows(earliestEnd, latestStart)) {
            return false;
        }
        if (known == null) {
            known = new KeySessions();
            keys.put(key, known);
            bytes += KEY_BYTES + key.get().length;
        }
        if (!store.mayHaveSession(key, earliestEnd)) {
            known.learn(earliestEnd, Long.MAX_VALUE);
            return false;
        }
        long nextStart = Long.MAX_VALUE;
        try (KeyValueIterator<Windowed<Bytes>, byte[]> found =
                store.findSessions(key, earliestEnd, Long.MAX_VALUE)) {
            while (found.hasNext()) {
                KeyValue<Windowed<Bytes>, byte[]> entry = found.next();
                long start = entry.key.window().start();
                if (start <= latestStart) {
                    learn(known, FoldbSessionStore.timed(entry.key), entry.value);
                } else {
                    nextStart = Math.min(nextStart, start);
                }
            }
        }
        known.learn(earliestEnd, nextStart == Long.MAX_VALUE ? nextStart : nextStart - 1);
        return true;
    }

    private void learn(KeySessions known, TimedKey id, byte[] value) {
        if (!known.sessions.containsKey(id)) {
            Session session = add(known, id);
            session.logged = true;
            set(session, value);
        }
    }

    private Session add(KeySessions known, TimedKey id) {
        Session session = new Session();
        known.sessions.put(id, session);
        bytes += sessionBytes(id);
        return session;
    }

    /** The key is there once more in the session's stored key, and once in the record's. */
    private static long sessionBytes(TimedKey id) {
        return SESSION_BYTES + 2L * id.key().get().length;
    }

    private void set(Session session, byte[] value) {
        bytes += length(value) - length(session.value);
        session.value = value;
    }

    private static int length(byte[] value) {
        return value == null ? 0 : value.length;
    }

    /** Returns the loaded sessions of a key, as {@link FoldbSessionStore#findSessions} does. */
    synchronized List<KeyValue<TimedKey, byte[]>> find(
            Bytes key, long earliestEnd, long latestStart) {
        List<KeyValue<TimedKey, byte[]>> found = new ArrayList<>(2);
        long from = Math.max(earliestEnd, store.firstReadable());
        TimedKey first = new TimedKey(key, from, Long.MIN_VALUE);
        keys.get(key).sessions.tailMap(first).forEach((id, session) -> {
            if (session.value != null && id.rest() <= latestStart) {
                found.add(KeyValue.pair(id, session.value));
            }
        });
        return found;
    }

    /** Puts a session of a loaded key. */
    synchronized void put(TimedKey id, byte[] value) {
        KeySessions known = keys.get(id.key());
        Session session = known.sessions.get(id);
        set(session == null ? add(known, id) : session, value);
    }

    /**
     * Removes a session of a loaded key, if there is one.
     *
     * @return whether the changelog may have the session, so that the fold must log its end
     */
    synchronized boolean remove(TimedKey id) {
        Map<TimedKey, Session> sessions = keys.get(id.key()).sessions;
        Session session = sessions.get(id);
        if (session == null) {
            return false;
        }
        set(session, null);
        if (!session.logged) {
            sessions.remove(id);
            bytes -= sessionBytes(id);
        }
        return session.logged;
    }

    /** Returns whether a session is removed that the changelog may have. */
    synchronized boolean isDeleted(TimedKey id) {
        Session session = session(id);
        return session != null && session.logged && session.value == null;
    }

    /** Notes whether the changelog may have a session. */
    synchronized void setLogged(TimedKey id, boolean logged) {
        Session session = session(id);
        if (session != null) {
            session.logged = logged;
        }
    }

    /** Returns whether this buffer knows what became of a session. */
    synchronized boolean has(TimedKey id) {
        return session(id) != null;
    }

    /** Returns the value of a session; {@code null} if it is removed or unknown. */
    synchronized byte[] value(TimedKey id) {
        Session session = session(id);
        return session == null ? null : session.value;
    }

    private Session session(TimedKey id) {
        KeySessions known = keys.get(id.key());
        return known == null ? null : known.sessions.get(id);
    }

    /**
     * Calls a function for each known session with its value, which is {@code null} if the session
     * is removed.
     *
     * @param key whose sessions; {@code null} for all keys
     */
    synchronized void forEach(Bytes key, BiConsumer<TimedKey, byte[]> function) {
        if (key == null) {
            keys.keySet().forEach(each -> forEach(each, function));
        } else if (keys.containsKey(key)) {
            keys.get(key).sessions.forEach((id, session) -> function.accept(id, session.value));
        }
    }

    /** Writes sessions, which are logged, to the database. */
    synchronized void write(List<Bytes> stored) {
        WriteBuffer batch = new WriteBuffer();
        for (Bytes key : stored) {
            TimedKey id = FoldbSessionStore.session(key);
            if (has(id)) {
                store.note(id, value(id));
                batch.put(key.get(), value(id));
            }
        }
        store.writeChanges(batch);
    }

    /** Returns an estimate of the memory of all sessions, in bytes. */
    synchronized long bytes() {
        return bytes;
    }

    /** Forgets the sessions. */
    synchronized void clear() {
        keys.clear();
        bytes = 0;
    }
}
