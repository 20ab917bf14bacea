package foldb.streams;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * An iterator over the sessions of a store and of the buffer above it, in the order of the store.
 * It has the sessions of the moment of its creation. What the buffer knows of a session hides what
 * the store has.
 */
final class OverlaidSessions implements KeyValueIterator<Windowed<Bytes>, byte[]> {
    private final FoldbSessionStore store;
    private final boolean forward;
    private final Set<TimedKey> known = new HashSet<>();
    private final Deque<Map.Entry<Bytes, byte[]>> own = new ArrayDeque<>();
    private final KeyValueIterator<Windowed<Bytes>, byte[]> stored;
    /** The stored key of the next stored session; {@code null} if it is not looked for yet. */
    private Bytes storedNext;

    private OverlaidSessions(FoldbSessionStore store, boolean forward,
            KeyValueIterator<Windowed<Bytes>, byte[]> stored) {
        this.store = store;
        this.forward = forward;
        this.stored = stored;
    }

    /**
     * Makes an iterator.
     *
     * @param key the only key whose sessions are wanted, or {@code null}
     * @param wanted the sessions that {@code read} iterates over
     * @param forward whether they come in ascending order
     * @param read makes the iterator over the store
     */
    static OverlaidSessions of(FoldbSessionStore store, SessionBuffer buffer, Bytes key,
            Predicate<TimedKey> wanted, boolean forward,
            Supplier<KeyValueIterator<Windowed<Bytes>, byte[]>> read) {
        // A fold writes the store under this monitor.
        synchronized (buffer) {
            OverlaidSessions sessions = new OverlaidSessions(store, forward, read.get());
            sessions.take(buffer, key, wanted);
            // The first look decides which stored sessions the iterator has.
            sessions.stored.hasNext();
            return sessions;
        }
    }

    private void take(SessionBuffer buffer, Bytes key, Predicate<TimedKey> wanted) {
        TreeMap<Bytes, byte[]> sorted = new TreeMap<>();
        buffer.forEach(key, (id, value) -> {
            if (wanted.test(id)) {
                known.add(id);
                if (value != null) {
                    sorted.put(Bytes.wrap(store.encode(id)), value);
                }
            }
        });
        own.addAll((forward ? sorted : sorted.descendingMap()).entrySet());
    }

    /** Returns whether the next session is a stored one, after the known ones were left out. */
    private boolean isStoredNext() {
        while (storedNext == null && stored.hasNext()) {
            TimedKey id = FoldbSessionStore.timed(stored.peekNextKey());
            if (known.contains(id)) {
                stored.next();
            } else {
                storedNext = Bytes.wrap(store.encode(id));
            }
        }
        if (storedNext == null || own.isEmpty()) {
            return storedNext != null;
        }
        int order = storedNext.compareTo(own.peek().getKey());
        return forward ? order < 0 : order > 0;
    }

    @Override
    public boolean hasNext() {
        return isStoredNext() || !own.isEmpty();
    }

    @Override
    public Windowed<Bytes> peekNextKey() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return isStoredNext() ? stored.peekNextKey() : windowed(own.peek().getKey());
    }

    private static Windowed<Bytes> windowed(Bytes stored) {
        return FoldbSessionStore.windowed(FoldbSessionStore.session(stored));
    }

    @Override
    public KeyValue<Windowed<Bytes>, byte[]> next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        if (isStoredNext()) {
            storedNext = null;
            return stored.next();
        }
        Map.Entry<Bytes, byte[]> session = own.poll();
        return KeyValue.pair(windowed(session.getKey()), session.getValue());
    }

    @Override
    public void close() {
        own.clear();
        storedNext = null;
        stored.close();
    }
}
