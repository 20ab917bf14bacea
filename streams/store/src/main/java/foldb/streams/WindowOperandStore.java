package foldb.streams;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * The view of a merge store with windows. If the processor asks for old values, the view is the
 * store itself.
 */
final class WindowOperandStore<K, V>
    extends WrappedStateStore<TimestampedWindowStore<K, V>, Windowed<K>, ValueAndTimestamp<V>>
    implements OperandView, TimestampedWindowStore<K, V> {
    private final FoldbMergingWindowStore merging;
    private final Operands<K, V> operands;
    private final Runnable logOldValues;
    private boolean merges;

    private WindowOperandStore(TimestampedWindowStore<K, V> store,
            FoldbMergingWindowStore merging, Operands<K, V> operands, Runnable logOldValues) {
        super(store);
        this.merging = merging;
        this.operands = operands;
        this.logOldValues = logOldValues;
    }

    /**
     * Makes the view of a store.
     *
     * @param store the layers of the store, a {@link FoldbMergingWindowStore} innermost
     * @param logOldValues runs if the processor asks for old values
     */
    @SuppressWarnings("unchecked")
    static <K, V> WindowOperandStore<K, V> over(WrappedStateStore<?, ?, ?> store,
            Operands<K, V> operands, Runnable logOldValues) {
        return new WindowOperandStore<>((TimestampedWindowStore<K, V>) store,
            Layers.find(store, FoldbMergingWindowStore.class), operands, logOldValues);
    }

    @Override
    public void begin(Record<?, ?> record) {
        operands.begin(record);
    }

    @Override
    public boolean setFlushListener(
            CacheFlushListener<Windowed<K>, ValueAndTimestamp<V>> listener,
            boolean sendOldValues) {
        merges = super.setFlushListener(listener, sendOldValues);
        if (!merges) {
            logOldValues.run();
        }
        return merges;
    }

    @Override
    public ValueAndTimestamp<V> fetch(K key, long windowStart) {
        return merges ? null : wrapped().fetch(key, windowStart);
    }

    @Override
    public void put(K key, ValueAndTimestamp<V> value, long windowStart) {
        if (!merges) {
            wrapped().put(key, value, windowStart);
            return;
        }
        Bytes stored = merging.admit(operands.key(key), windowStart);
        if (stored != null) {
            operands.merge(stored, value);
        }
    }

    @Override
    public WindowStoreIterator<ValueAndTimestamp<V>> fetch(K key, long timeFrom, long timeTo) {
        return wrapped().fetch(key, timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<K>, ValueAndTimestamp<V>> fetch(
            K keyFrom, K keyTo, long timeFrom, long timeTo) {
        return wrapped().fetch(keyFrom, keyTo, timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<K>, ValueAndTimestamp<V>> fetchAll(
            long timeFrom, long timeTo) {
        return wrapped().fetchAll(timeFrom, timeTo);
    }

    @Override
    public KeyValueIterator<Windowed<K>, ValueAndTimestamp<V>> all() {
        return wrapped().all();
    }
}
