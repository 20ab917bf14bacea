package foldb.streams;

import java.util.Iterator;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * An aggregation processor's view of sessions that merge: what it finds, removes and puts is in
 * {@link SessionMerges}. {@link MergingStoreFactory} makes no such store for a processor that must
 * forward old values.
 */
final class SessionView<K, V>
    extends WrappedStateStore<SessionStore<K, V>, Windowed<K>, V>
    implements OperandView, SessionStore<K, V> {
    private final SessionMerges merges;
    private final RecordSerdes<K, V> serdes;

    private SessionView(
            SessionStore<K, V> store, SessionMerges merges, RecordSerdes<K, V> serdes) {
        super(store);
        this.merges = merges;
        this.serdes = serdes;
    }

    /**
     * Makes the view of a store.
     *
     * @param store the layers of the store, a {@link FoldbMergingSessionStore} innermost
     */
    @SuppressWarnings("unchecked")
    static <K, V> SessionView<K, V> over(
            WrappedStateStore<?, ?, ?> store, RecordSerdes<K, V> serdes) {
        SessionMerges merges = Layers.find(store, FoldbMergingSessionStore.class).merges();
        return new SessionView<>((SessionStore<K, V>) store, merges, serdes);
    }

    @Override
    public void begin(Record<?, ?> record) {
        serdes.begin();
    }

    @Override
    public boolean setFlushListener(
            CacheFlushListener<Windowed<K>, V> listener, boolean sendOldValues) {
        if (!super.setFlushListener(listener, sendOldValues)) {
            throw new IllegalStateException("store " + name() + " merges for a processor that"
                + " forwards old values");
        }
        return true;
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> findSessions(
            K key, long earliestSessionEndTime, long latestSessionStartTime) {
        // Before the record changes anything: a fold forgets the sessions that it finds.
        merges.foldIfFull();
        Bytes raw = serdes.key(key);
        return new Found(key,
            merges.find(raw, earliestSessionEndTime, latestSessionStartTime).iterator());
    }

    @Override
    public void remove(Windowed<K> session) {
        merges.remove(timed(session));
    }

    @Override
    public void put(Windowed<K> session, V aggregate) {
        merges.put(timed(session), serdes.raw(aggregate));
    }

    private TimedKey timed(Windowed<K> session) {
        return FoldbSessionStore.timed(
            new Windowed<>(serdes.key(session.key()), session.window()));
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> fetch(K key) {
        return wrapped().fetch(key);
    }

    @Override
    public KeyValueIterator<Windowed<K>, V> fetch(K keyFrom, K keyTo) {
        return wrapped().fetch(keyFrom, keyTo);
    }

    /** The sessions that a processor finds. */
    private final class Found implements KeyValueIterator<Windowed<K>, V> {
        private final K key;
        private final Iterator<KeyValue<TimedKey, byte[]>> sessions;

        Found(K key, Iterator<KeyValue<TimedKey, byte[]>> sessions) {
            this.key = key;
            this.sessions = sessions;
        }

        @Override
        public boolean hasNext() {
            return sessions.hasNext();
        }

        @Override
        public KeyValue<Windowed<K>, V> next() {
            KeyValue<TimedKey, byte[]> session = sessions.next();
            SessionWindow window = new SessionWindow(session.key.rest(), session.key.time());
            return KeyValue.pair(new Windowed<>(key, window), serdes.value(session.value));
        }

        @Override
        public Windowed<K> peekNextKey() {
            throw new UnsupportedOperationException("an aggregation does not peek");
        }

        @Override
        public void close() {
        }
    }
}
