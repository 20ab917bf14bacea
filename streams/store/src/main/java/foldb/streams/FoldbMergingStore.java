package foldb.streams;

import java.util.List;
import java.util.Objects;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.internals.ChangeLoggingTimestampedKeyValueBytesStore;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * The innermost store of a merge: a timestamped key-value store that also takes blind merges.
 *
 * <p>Any read first writes the buffer of {@link Merges} to the database, so a read always sees
 * every merge.
 */
final class FoldbMergingStore
    extends MergingLayer<FoldbKeyValueStore, OperandMerges>
    implements KeyValueStore<Bytes, byte[]>, TimestampedBytesStore {
    /** This store, or the layer above it that logs changes. */
    private KeyValueStore<Bytes, byte[]> logged;

    FoldbMergingStore(FoldbKeyValueStore wrapped, MergeOperator operator) {
        super(wrapped, store ->
            new OperandMerges(store, wrapped, operator, DirtyKeys.Order.BY_KEY));
    }

    @Override
    public void init(StateStoreContext stateStoreContext, StateStore root) {
        merges.init(stateStoreContext);
        KeyValueStore<Bytes, byte[]> above = root instanceof WrappedStateStore<?, ?, ?> layers
            ? Layers.find(layers, ChangeLoggingTimestampedKeyValueBytesStore.class)
            : null;
        logged = above == null ? this : above;
        super.init(stateStoreContext, root);
        merges.opened();
    }

    /** Merges an operand into a key; see {@link OperandMerges#merge}. */
    void merge(Bytes key, long timestamp, byte[] value) {
        merges.merge(Objects.requireNonNull(key, "key cannot be null"), timestamp, value);
    }

    @Override
    public void putFolded(List<KeyValue<Bytes, byte[]>> entries) {
        logged.putAll(entries);
    }

    @Override
    public byte[] loggedKey(Bytes stored) {
        return stored.get();
    }

    @Override
    public byte[] get(Bytes key) {
        merges.write();
        merges.read();
        return wrapped().get(key);
    }

    @Override
    public void put(Bytes key, byte[] value) {
        merges.write();
        wrapped().put(key, value);
        merges.replaced(key);
    }

    @Override
    public byte[] putIfAbsent(Bytes key, byte[] value) {
        merges.write();
        byte[] before = wrapped().putIfAbsent(key, value);
        if (before == null) {
            merges.replaced(key);
        }
        return before;
    }

    @Override
    public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
        merges.write();
        wrapped().putAll(entries);
        entries.forEach(entry -> merges.replaced(entry.key));
    }

    @Override
    public byte[] delete(Bytes key) {
        merges.write();
        byte[] before = wrapped().delete(key);
        merges.replaced(key);
        return before;
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
        merges.write();
        return wrapped().range(from, to);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> reverseRange(Bytes from, Bytes to) {
        merges.write();
        return wrapped().reverseRange(from, to);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> all() {
        merges.write();
        return wrapped().all();
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> reverseAll() {
        merges.write();
        return wrapped().reverseAll();
    }

    @Override
    public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
            P prefix, PS prefixKeySerializer) {
        merges.write();
        return wrapped().prefixScan(prefix, prefixKeySerializer);
    }

    @Override
    public long approximateNumEntries() {
        merges.write();
        return wrapped().approximateNumEntries();
    }
}
