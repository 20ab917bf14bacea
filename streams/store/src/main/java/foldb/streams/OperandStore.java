package foldb.streams;

import java.util.List;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * The view of a merge store without windows. If the processor asks for old values, the view is the
 * store itself.
 */
final class OperandStore<K, V>
    extends WrappedStateStore<TimestampedKeyValueStore<K, V>, K, ValueAndTimestamp<V>>
    implements OperandView, TimestampedKeyValueStore<K, V> {
    private final Operands<K, V> operands;
    private final Runnable logOldValues;
    private boolean merges;

    private OperandStore(TimestampedKeyValueStore<K, V> store, Operands<K, V> operands,
            Runnable logOldValues) {
        super(store);
        this.operands = operands;
        this.logOldValues = logOldValues;
    }

    /**
     * Makes the view of a store.
     *
     * @param store the layers of the store, a {@link FoldbMergingStore} innermost
     * @param logOldValues runs if the processor asks for old values
     */
    @SuppressWarnings("unchecked")
    static <K, V> OperandStore<K, V> over(WrappedStateStore<?, ?, ?> store,
            Operands<K, V> operands, Runnable logOldValues) {
        return new OperandStore<>(
            (TimestampedKeyValueStore<K, V>) store, operands, logOldValues);
    }

    @Override
    public void begin(Record<?, ?> record) {
        operands.begin(record);
    }

    @Override
    public boolean setFlushListener(
            CacheFlushListener<K, ValueAndTimestamp<V>> listener, boolean sendOldValues) {
        merges = super.setFlushListener(listener, sendOldValues);
        if (!merges) {
            logOldValues.run();
        }
        return merges;
    }

    @Override
    public ValueAndTimestamp<V> get(K key) {
        return merges ? null : wrapped().get(key);
    }

    @Override
    public void put(K key, ValueAndTimestamp<V> value) {
        if (!merges) {
            wrapped().put(key, value);
            return;
        }
        operands.merge(operands.key(key), value);
    }

    @Override
    public ValueAndTimestamp<V> putIfAbsent(K key, ValueAndTimestamp<V> value) {
        return wrapped().putIfAbsent(key, value);
    }

    @Override
    public void putAll(List<KeyValue<K, ValueAndTimestamp<V>>> entries) {
        wrapped().putAll(entries);
    }

    @Override
    public ValueAndTimestamp<V> delete(K key) {
        return wrapped().delete(key);
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> range(K from, K to) {
        return wrapped().range(from, to);
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> reverseRange(K from, K to) {
        return wrapped().reverseRange(from, to);
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> all() {
        return wrapped().all();
    }

    @Override
    public KeyValueIterator<K, ValueAndTimestamp<V>> reverseAll() {
        return wrapped().reverseAll();
    }

    @Override
    public <PS extends Serializer<P>, P> KeyValueIterator<K, ValueAndTimestamp<V>> prefixScan(
            P prefix, PS prefixKeySerializer) {
        return wrapped().prefixScan(prefix, prefixKeySerializer);
    }

    @Override
    public long approximateNumEntries() {
        return wrapped().approximateNumEntries();
    }
}
