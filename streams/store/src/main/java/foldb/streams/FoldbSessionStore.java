package foldb.streams;

import java.util.Objects;
import java.util.function.Predicate;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;

/**
 * A session store in one foldb database.
 *
 * <p>Results, orders and expiry are those of the persistent session store of Kafka Streams, with
 * two differences. A closed store throws {@code InvalidStateStoreException} where that one finds
 * nothing. An iterator has the entries of all intervals as of its first use.
 */
final class FoldbSessionStore extends IntervalStore implements SessionStore<Bytes, byte[]> {
    private final long retention;
    private final boolean merging;

    /**
     * Creates a closed store.
     *
     * @param indexed whether the store finds sessions by their end alone
     * @param merging whether the store is that of a {@link FoldbMergingSessionStore}
     */
    FoldbSessionStore(final String name, final long retention, final long interval,
            final boolean indexed, final boolean merging) {
        super(name, KeyLayout.SESSION, retention, interval, indexed, Filtered.KEYS);
        this.retention = retention;
        this.merging = merging;
    }

    /** Returns a supplier of the same stores that merge. */
    MergingSessionStoreSupplier merging(final MergeOperator operator) {
        return new MergingSessionStoreSupplier(name(), retention, operator);
    }

    @Override
    boolean takesMerges() {
        return merging;
    }

    @Override
    long firstReadable() {
        return intervals().expiredTime() + 1;
    }

    @Override
    public void put(final Windowed<Bytes> sessionKey, final byte[] aggregate) {
        write(timed(sessionKey), aggregate);
    }

    @Override
    public void remove(final Windowed<Bytes> sessionKey) {
        erase(timed(sessionKey));
    }

    @Override
    public byte[] fetchSession(
            final Bytes key, final long sessionStartTime, final long sessionEndTime) {
        return read(new TimedKey(key, sessionEndTime, sessionStartTime));
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
            final long earliestSessionEndTime, final long latestSessionEndTime) {
        if (!isIndexed()) {
            return SessionStore.super.findSessions(earliestSessionEndTime, latestSessionEndTime);
        }
        final TimedEntries entries = entries(
            KeyOrder.BY_TIME, true, null, null, earliestSessionEndTime, latestSessionEndTime);
        return new TimedIterator<>(
            entries,
            entry -> entry.time() >= earliestSessionEndTime
                && entry.time() <= latestSessionEndTime,
            FoldbSessionStore::windowed);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
            final Bytes key,
            final long earliestSessionEndTime,
            final long latestSessionStartTime) {
        return ofKey(key, earliestSessionEndTime, latestSessionStartTime, true);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
            final Bytes key,
            final long earliestSessionEndTime,
            final long latestSessionStartTime) {
        return ofKey(key, earliestSessionEndTime, latestSessionStartTime, false);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
            final Bytes keyFrom,
            final Bytes keyTo,
            final long earliestSessionEndTime,
            final long latestSessionStartTime) {
        return ofRange(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, true);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
            final Bytes keyFrom,
            final Bytes keyTo,
            final long earliestSessionEndTime,
            final long latestSessionStartTime) {
        return ofRange(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, false);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(final Bytes key) {
        return ofKey(key, 0, Long.MAX_VALUE, true);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(final Bytes key) {
        return ofKey(key, 0, Long.MAX_VALUE, false);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
            final Bytes keyFrom, final Bytes keyTo) {
        return ofRange(keyFrom, keyTo, 0, Long.MAX_VALUE, true);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
            final Bytes keyFrom, final Bytes keyTo) {
        return ofRange(keyFrom, keyTo, 0, Long.MAX_VALUE, false);
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> ofKey(
            final Bytes key,
            final long earliestEnd,
            final long latestStart,
            final boolean forward) {
        Objects.requireNonNull(key, "key cannot be null");
        return sessions(
            key, key, entry -> entry.key().equals(key), earliestEnd, latestStart, forward);
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> ofRange(
            final Bytes keyFrom,
            final Bytes keyTo,
            final long earliestEnd,
            final long latestStart,
            final boolean forward) {
        if (isReversed(keyFrom, keyTo)) {
            return TimedIterator.empty();
        }
        return sessions(
            keyFrom, keyTo, keys(keyFrom, keyTo), earliestEnd, latestStart, forward);
    }

    private KeyValueIterator<Windowed<Bytes>, byte[]> sessions(
            final Bytes keyFrom,
            final Bytes keyTo,
            final Predicate<TimedKey> keys,
            final long earliestEnd,
            final long latestStart,
            final boolean forward) {
        final long from = Math.max(earliestEnd, firstReadable());
        return new TimedIterator<>(
            entries(KeyOrder.BY_KEY, forward, keyFrom, keyTo, from, Long.MAX_VALUE),
            wanted(keys, earliestEnd, latestStart),
            FoldbSessionStore::windowed);
    }

    /** Returns whether a key may have a readable session that ends at a time or later. */
    boolean mayHaveSession(final Bytes key, final long earliestEnd) {
        return intervals().mayHold(
            intervals().of(Math.max(earliestEnd, firstReadable())), key);
    }

    /** Accepts the readable sessions with such a key that end and begin in time. */
    Predicate<TimedKey> wanted(
            final Predicate<TimedKey> keys, final long earliestEnd, final long latestStart) {
        final long from = Math.max(earliestEnd, firstReadable());
        return keys.and(entry -> entry.time() >= from && entry.rest() <= latestStart);
    }

    /** Returns the session of a stored key. */
    static TimedKey session(final Bytes stored) {
        return KeyLayout.SESSION.decode(KeyOrder.BY_KEY, stored.get());
    }

    static TimedKey timed(final Windowed<Bytes> session) {
        return new TimedKey(session.key(), session.window().end(), session.window().start());
    }

    static Windowed<Bytes> windowed(final TimedKey entry) {
        return new Windowed<>(entry.key(), new SessionWindow(entry.rest(), entry.time()));
    }
}
