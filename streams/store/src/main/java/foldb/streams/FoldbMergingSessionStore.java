package foldb.streams;

import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * The innermost store of sessions that merge: a session store whose processor changes sessions in
 * memory between two commits.
 *
 * <p>{@link SessionView} gives the processor {@link SessionMerges}. Every other reader sees them
 * above those of the database. A session whose retention ends between two commits is still logged
 * and forwarded at the second one.
 */
final class FoldbMergingSessionStore
    extends MergingLayer<FoldbSessionStore, SessionMerges>
    implements SessionStore<Bytes, byte[]> {
    /** The layer above this store that logs changes, or {@code null}. */
    private SessionStore<Bytes, byte[]> logged;
    /** Whether that layer logs a fold, which writes the database itself. */
    private boolean logsOnly;
    private StateStoreContext context;

    FoldbMergingSessionStore(FoldbSessionStore wrapped, MergeOperator operator) {
        super(wrapped, store -> new SessionMerges(store, wrapped, operator.foldChunk()));
    }

    @Override
    public void init(StateStoreContext stateStoreContext, StateStore root) {
        context = stateStoreContext;
        merges.init(stateStoreContext);
        logged = root instanceof WrappedStateStore<?, ?, ?> layers
            ? Layers.<SessionStore<Bytes, byte[]>>named(layers, "ChangeLoggingSessionBytesStore")
            : null;
        super.init(stateStoreContext, root);
        merges.opened();
    }

    /** The database gets the entries once they are logged. */
    @Override
    public void putFolded(List<KeyValue<Bytes, byte[]>> entries) {
    }

    @Override
    public void logFolded(Bytes stored, byte[] value) {
        if (logged == null) {
            return;
        }
        logsOnly = true;
        try {
            log(FoldbSessionStore.windowed(FoldbSessionStore.session(stored)), value);
        } finally {
            logsOnly = false;
        }
    }

    private void log(Windowed<Bytes> session, byte[] value) {
        if (value == null) {
            logged.remove(session);
        } else {
            logged.put(session, value);
        }
    }

    @Override
    public byte[] loggedKey(Bytes stored) {
        return KeyLayout.changelogKey(stored.get());
    }

    @Override
    public void folded() {
        merges.folded();
        wrapped().expire();
    }

    @Override
    public void put(Windowed<Bytes> session, byte[] aggregate) {
        if (!logsOnly) {
            throw onlyMerges();
        }
    }

    @Override
    public void remove(Windowed<Bytes> session) {
        if (!logsOnly) {
            throw onlyMerges();
        }
    }

    /** The aggregation is the only writer of its store, and it has the view. */
    private UnsupportedOperationException onlyMerges() {
        return new UnsupportedOperationException("Store " + name()
            + " takes sessions from its aggregation only");
    }

    @Override
    public byte[] fetchSession(Bytes key, long sessionStartTime, long sessionEndTime) {
        merges.read();
        TimedKey session = new TimedKey(
            Objects.requireNonNull(key, "key cannot be null"), sessionEndTime, sessionStartTime);
        wrapped().checkOpen();
        synchronized (merges.buffer()) {
            if (merges.buffer().has(session)) {
                return sessionEndTime < wrapped().firstReadable() ? null
                    : merges.buffer().value(session);
            }
            return wrapped().fetchSession(key, sessionStartTime, sessionEndTime);
        }
    }

    /** Only stores for sessions that emit when they close find them by time. */
    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
            long earliestSessionEndTime, long latestSessionEndTime) {
        return wrapped().findSessions(earliestSessionEndTime, latestSessionEndTime);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
            Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
        return ofKey(key, earliestSessionEndTime, latestSessionStartTime, true, () ->
            wrapped().findSessions(key, earliestSessionEndTime, latestSessionStartTime));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
            Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
        return ofKey(key, earliestSessionEndTime, latestSessionStartTime, false, () ->
            wrapped().backwardFindSessions(key, earliestSessionEndTime, latestSessionStartTime));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(Bytes keyFrom, Bytes keyTo,
            long earliestSessionEndTime, long latestSessionStartTime) {
        return ofRange(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, true,
            () -> wrapped().findSessions(
                keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(Bytes keyFrom,
            Bytes keyTo, long earliestSessionEndTime, long latestSessionStartTime) {
        return ofRange(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, false,
            () -> wrapped().backwardFindSessions(
                keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes key) {
        return ofKey(key, 0, Long.MAX_VALUE, true, () -> wrapped().fetch(key));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes key) {
        return ofKey(key, 0, Long.MAX_VALUE, false, () -> wrapped().backwardFetch(key));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes keyFrom, Bytes keyTo) {
        return ofRange(keyFrom, keyTo, 0, Long.MAX_VALUE, true, () ->
            wrapped().fetch(keyFrom, keyTo));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes keyFrom, Bytes keyTo) {
        return ofRange(keyFrom, keyTo, 0, Long.MAX_VALUE, false, () ->
            wrapped().backwardFetch(keyFrom, keyTo));
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> ofKey(Bytes key, long earliestEnd,
            long latestStart, boolean forward,
            Supplier<KeyValueIterator<Windowed<Bytes>, byte[]>> read) {
        Predicate<TimedKey> wanted =
            wrapped().wanted(session -> session.key().equals(key), earliestEnd, latestStart);
        return OverlaidSessions.of(wrapped(), merges.buffer(), key, wanted, forward, read);
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> ofRange(Bytes keyFrom, Bytes keyTo,
            long earliestEnd, long latestStart, boolean forward,
            Supplier<KeyValueIterator<Windowed<Bytes>, byte[]>> read) {
        Predicate<TimedKey> wanted = wrapped().wanted(
            IntervalStore.keys(keyFrom, keyTo), earliestEnd, latestStart);
        return OverlaidSessions.of(wrapped(), merges.buffer(), null, wanted, forward, read);
    }

    @Override
    public <R> QueryResult<R> query(
            Query<R> query, PositionBound positionBound, QueryConfig config) {
        return StoreQueryUtils.handleBasicQueries(
            query, positionBound, config, this, getPosition(), context);
    }
}
