package foldb.streams;

import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * The innermost store of windowed merges: a timestamped window store that also takes blind merges.
 *
 * <p>The store knows of most new windows that they are new, and keeps their numbers in memory until
 * the fold. A reader of several windows has all these numbers written.
 *
 * <p>A merge into a window that has expired is dropped and counted, as a put is. A window that
 * expires with unfolded operands stays until the next fold, which logs and forwards its value.
 * Windows are folded in the order of their newest records, so that results follow the order of
 * time as closely as those of Streams' record cache.
 */
final class FoldbMergingWindowStore
    extends MergingLayer<FoldbTimestampedWindowStore, OperandMerges>
    implements WindowStore<Bytes, byte[]>, TimestampedBytesStore {
    /** The layer above this store that logs changes, or {@code null}. */
    private WindowStore<Bytes, byte[]> logged;
    /** Whether puts of that layer are already in the database. */
    private boolean logsOnly;

    FoldbMergingWindowStore(FoldbTimestampedWindowStore wrapped, MergeOperator operator) {
        super(wrapped, store ->
            new OperandMerges(store, wrapped, operator, DirtyKeys.Order.BY_RECORD));
    }

    @Override
    public void init(StateStoreContext stateStoreContext, StateStore root) {
        merges.init(stateStoreContext);
        logged = root instanceof WrappedStateStore<?, ?, ?> layers
            ? Layers.<WindowStore<Bytes, byte[]>>named(
                layers, "ChangeLoggingTimestampedWindowBytesStore")
            : null;
        super.init(stateStoreContext, root);
        merges.opened();
    }

    /**
     * Returns the stored key of a window that takes merges, or counts a record of an expired window
     * as dropped.
     *
     * @param windowStart the start of the window, in milliseconds
     * @return the key for {@link OperandMerges#merge}, or {@code null} if the window has expired
     */
    Bytes admit(Bytes key, long windowStart) {
        TimedKey window = new TimedKey(key, windowStart, 0);
        wrapped().checkOpen();
        return wrapped().admits(window) ? Bytes.wrap(wrapped().encode(window)) : null;
    }

    @Override
    public void putFolded(List<KeyValue<Bytes, byte[]>> entries) {
        wrapped().writeFolded(merges.takeUnwritten(entries));
        if (logged == null) {
            return;
        }
        logsOnly = true;
        try {
            for (KeyValue<Bytes, byte[]> entry : entries) {
                TimedKey window =
                    KeyLayout.WINDOW.decode(KeyOrder.BY_KEY, entry.key.get());
                logged.put(window.key(), entry.value, window.time());
            }
        } finally {
            logsOnly = false;
        }
    }

    @Override
    public byte[] loggedKey(Bytes stored) {
        return KeyLayout.changelogKey(stored.get());
    }

    @Override
    public Object show(Object key, Bytes stored) {
        TimedKey window = KeyLayout.WINDOW.decode(KeyOrder.BY_KEY, stored.get());
        return key + " in the window from " + window.time();
    }

    @Override
    public void folded() {
        wrapped().expire();
    }

    @Override
    public void put(Bytes key, byte[] value, long windowStart) {
        if (logsOnly) {
            return;
        }
        merges.write();
        wrapped().put(key, value, windowStart);
        merges.replaced(stored(key, windowStart));
    }

    private Bytes stored(Bytes key, long windowStart) {
        return Bytes.wrap(wrapped().encode(new TimedKey(key, windowStart, 0)));
    }

    @Override
    public byte[] fetch(Bytes key, long windowStart) {
        merges.write(stored(key, windowStart));
        merges.read();
        return wrapped().fetch(key, windowStart);
    }

    @Override
    public WindowStoreIterator<byte[]> fetch(Bytes key, long timeFrom, long timeTo) {
        merges.write();
        return wrapped().fetch(key, timeFrom, timeTo);
    }

    @Override
    public WindowStoreIterator<byte[]> backwardFetch(Bytes key, long timeFrom, long timeTo) {
        merges.write();
        return wrapped().backwardFetch(key, timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
            Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo) {
        merges.write();
        return wrapped().fetch(keyFrom, keyTo, timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
            Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo) {
        merges.write();
        return wrapped().backwardFetch(keyFrom, keyTo, timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(long timeFrom, long timeTo) {
        merges.write();
        return wrapped().fetchAll(timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(
            long timeFrom, long timeTo) {
        merges.write();
        return wrapped().backwardFetchAll(timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> all() {
        merges.write();
        return wrapped().all();
    }

    @Override
    public KeyValueIterator<Windowed<Bytes>, byte[]> backwardAll() {
        merges.write();
        return wrapped().backwardAll();
    }
}
