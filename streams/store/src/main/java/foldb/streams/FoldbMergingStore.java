package foldb.streams;

import foldb.streams.engine.FoldbException;
import foldb.streams.engine.WriteBuffer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.internals.Change;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.ChangeLoggingTimestampedKeyValueBytesStore;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * The innermost store of a merge: a timestamped key-value store that also takes blind merges.
 *
 * <p>A merge enters a buffer of a few kilobytes, and its key enters the set of dirty keys. Any read
 * first writes the buffer to the database, so a read always sees every merge. At pre-commit,
 * Streams calls {@link #flushCache()}. It reads each dirty key once, puts the folded value through
 * the changelogging layer above this store, and forwards the value to the flush listener. The
 * changelog topic is compacted, so it holds full values and never operands.
 *
 * <p>One stream thread merges, folds and puts. Interactive queries read from other threads; the
 * monitor of {@link #pending} guards the buffer, {@link #merged} and {@link #failure}.
 */
final class FoldbMergingStore
    extends WrappedStateStore<FoldbKeyValueStore, byte[], byte[]>
    implements KeyValueStore<Bytes, byte[]>, TimestampedBytesStore {
    private static final int BUFFER_BYTES = 16 << 10;

    /** The stores that this thread's flush made dirty after their own flush of the same commit. */
    private static final ThreadLocal<Set<FoldbMergingStore>> LATE = new ThreadLocal<>();

    private final MergeOperator operator;
    private final WriteBuffer pending = new WriteBuffer();
    private final MergeMetrics metrics = new MergeMetrics();
    /** The newest records that the buffer has and the position lacks, one for each partition. */
    private final List<ProcessorRecordContext> merged = new ArrayList<>();
    private ProcessorStateException failure;
    private DirtyKeys dirty = new DirtyKeys();
    /** What the dirty keys take of the process's bound; null while the store is closed. */
    private DirtyTotal.Part part;
    private boolean folding;
    /** Whether no record was merged since the last flush, except by flushes of other stores. */
    private boolean flushed;
    private MergeConfig bounds;
    private InternalProcessorContext<?, ?> context;
    /** This store, or the layer above it that logs changes. */
    private KeyValueStore<Bytes, byte[]> logged;
    private CacheFlushListener<byte[], byte[]> listener;

    FoldbMergingStore(FoldbKeyValueStore wrapped, MergeOperator operator) {
        super(wrapped);
        this.operator = operator;
    }

    @Override
    public void init(StateStoreContext stateStoreContext, StateStore root) {
        context = ProcessorContextUtils.asInternalProcessorContext(stateStoreContext);
        bounds = MergeConfig.of(stateStoreContext.appConfigs());
        KeyValueStore<Bytes, byte[]> above = root instanceof WrappedStateStore<?, ?, ?> layers
            ? layers.findInner(ChangeLoggingTimestampedKeyValueBytesStore.class)
            : null;
        logged = above == null ? this : above;
        super.init(stateStoreContext, root);
        if (part == null) {
            part = DirtyTotal.PROCESS.join();
        }
        metrics.register(context, FoldbKeyValueStore.METRICS_SCOPE, name());
    }

    /**
     * Merges an operand into a key without a read.
     *
     * @param key the key
     * @param timestamp the timestamp of the operand, in milliseconds
     * @param value the serialized value of the operand
     * @throws StreamsException if the operator cannot fold the value, or the key or value is too
     *     large; the store stays as it was
     * @throws ProcessorStateException if the database refuses the write
     */
    void merge(Bytes key, long timestamp, byte[] value) {
        Objects.requireNonNull(key, "key cannot be null");
        operator.check(name(), value);
        byte[] operand = ByteBuffer.allocate(MergeOperator.STAMP_BYTES + value.length)
            .putLong(timestamp).put(value).array();
        wrapped().checkOpen();
        if (operator.hasFormat()) {
            check(operand);
        }
        ProcessorRecordContext current = context.recordContext();
        synchronized (pending) {
            if (key.get().length + operand.length >= BUFFER_BYTES) {
                writePending();
                mergeAlone(key.get(), operand);
                note(current);
                updatePosition();
            } else {
                pending.merge(key.get(), operand);
                note(current);
                if (pending.byteSize() >= BUFFER_BYTES) {
                    writePending();
                }
            }
        }
        metrics.merged();
        dirty.add(key, current == null ? unknown(timestamp) : current);
        Set<FoldbMergingStore> late = LATE.get();
        if (late == null) {
            flushed = false;
        } else if (flushed) {
            late.add(this);
        }
        boolean isTotalReached = part != null
            && part.reaches(dirty.bytes(), bounds.maxTotalBytes());
        if (isTotalReached || dirty.reaches(bounds)) {
            foldAll();
        }
    }

    /** Refuses a malformed operand now: in the buffer it would fail the write of all others. */
    private void check(byte[] operand) {
        try {
            wrapped().database().checkOperand(operand);
        } catch (FoldbException e) {
            throw new StreamsException("The operand of a merge into store " + name()
                + " must be " + e.getMessage() + ": merge operands that SetOperands or"
                + " SketchOperands made, or register another operator", e);
        }
    }

    /** Merges what may exceed the database's limits, past the buffer: it loses no other merge. */
    private void mergeAlone(byte[] key, byte[] operand) {
        try {
            wrapped().database().merge(key, operand);
        } catch (FoldbException e) {
            throw new ProcessorStateException(
                "Error while merging into store " + name() + ": " + e.getMessage(), e);
        }
    }

    private static ProcessorRecordContext unknown(long timestamp) {
        return new ProcessorRecordContext(timestamp, -1, -1, null, new RecordHeaders());
    }

    /** Notes a merged record, in place of the one before it from the same partition. */
    private void note(ProcessorRecordContext current) {
        if (current == null || current.topic() == null) {
            return;
        }
        for (int i = 0; i < merged.size(); i++) {
            ProcessorRecordContext before = merged.get(i);
            if (before.partition() == current.partition()
                    && before.topic().equals(current.topic())) {
                merged.set(i, current);
                return;
            }
        }
        merged.add(current);
    }

    /**
     * Adds the merged records to the position of the data. It follows the write of the buffer, so
     * the position never claims a merge that the database lacks.
     */
    private void updatePosition() {
        Position position = wrapped().getPosition();
        synchronized (position) {
            for (ProcessorRecordContext record : merged) {
                position.withComponent(record.topic(), record.partition(), record.offset());
            }
        }
        merged.clear();
    }

    /**
     * Writes the buffer. The failure of one write fails every later call, because a query's thread
     * may have met it first: the task must not commit without these merges.
     */
    private void writePending() {
        synchronized (pending) {
            if (failure != null) {
                throw failure;
            }
            if (pending.size() > 0) {
                try {
                    wrapped().database().write(pending);
                    updatePosition();
                } catch (FoldbException e) {
                    failure = new ProcessorStateException(
                        "Error while merging into store " + name() + ": " + e.getMessage(), e);
                    throw failure;
                } finally {
                    pending.clear();
                }
            }
        }
    }

    /**
     * Takes the listener that receives folded values.
     *
     * @return whether this store will forward; {@code false} where old values are asked for, which
     *     a fold does not know
     */
    @Override
    public boolean setFlushListener(
            CacheFlushListener<byte[], byte[]> flushListener, boolean sendOldValues) {
        listener = sendOldValues ? null : flushListener;
        return !sendOldValues;
    }

    /**
     * Folds, logs and forwards every dirty key.
     *
     * <p>Streams flushes the stores of a task one after the other. What this store forwards may
     * reach a processor that merges into a store flushed before: that store is flushed again, so
     * that the changelog has every merge of the commit.
     */
    @Override
    public void flushCache() {
        Set<FoldbMergingStore> late = new LinkedHashSet<>();
        LATE.set(late);
        try {
            foldAll();
        } finally {
            LATE.remove();
        }
        flushed = true;
        late.forEach(FoldbMergingStore::flushCache);
    }

    /** Folds every dirty key; keys that become dirty meanwhile follow in turn. */
    private void foldAll() {
        if (folding) {
            return;
        }
        folding = true;
        try {
            while (!dirty.isEmpty()) {
                List<DirtyKeys.Entry> round = dirty.sorted();
                dirty = new DirtyKeys();
                int done = 0;
                try {
                    while (done < round.size()) {
                        int end = Math.min(done + operator.foldChunk(), round.size());
                        fold(round.subList(done, end));
                        done = end;
                    }
                } finally {
                    // After an exception, an exception handler may let the task go on.
                    round.subList(done, round.size()).forEach(dirty::keep);
                }
            }
        } finally {
            folding = false;
            countDirty();
        }
    }

    private void fold(List<DirtyKeys.Entry> keys) {
        writePending();
        byte[][] values = readAll(keys);
        metrics.folded(values.length);
        List<KeyValue<Bytes, byte[]>> entries = new ArrayList<>(values.length);
        for (int i = 0; i < values.length; i++) {
            // A key is absent if a listener of an earlier chunk deleted it. The delete is logged.
            if (values[i] != null) {
                entries.add(KeyValue.pair(keys.get(i).key(), values[i]));
            }
        }
        ProcessorRecordContext before = context.recordContext();
        try {
            if (before == null && !keys.isEmpty()) {
                context.setRecordContext(keys.get(keys.size() - 1).context());
            }
            // The put gives later folds a base, so that they read no older operands.
            logged.putAll(entries);
            for (int i = 0; listener != null && i < values.length; i++) {
                if (values[i] != null) {
                    forward(keys.get(i), values[i]);
                }
            }
        } finally {
            context.setRecordContext(before);
        }
    }

    private byte[][] readAll(List<DirtyKeys.Entry> keys) {
        try {
            return wrapped().database().getAll(keys.stream().map(e -> e.key().get()).toList());
        } catch (FoldbException e) {
            throw new ProcessorStateException("Error while folding " + keys.size()
                + " keys of store " + name() + ": " + e.getMessage(), e);
        }
    }

    private void forward(DirtyKeys.Entry entry, byte[] value) {
        context.setRecordContext(entry.context());
        listener.apply(new Record<>(entry.key().get(), new Change<>(value, null),
            entry.context().timestamp(), entry.context().headers()));
    }

    /** Forgets the dirty keys. Streams calls it when a task changes its type, after a commit. */
    @Override
    public void clearCache() {
        synchronized (pending) {
            pending.clear();
            merged.clear();
        }
        dirty = new DirtyKeys();
        countDirty();
    }

    private void countDirty() {
        if (part != null) {
            part.count(dirty.bytes());
        }
    }

    @Override
    public Position getPosition() {
        writePending();
        return wrapped().getPosition();
    }

    @Override
    public void commit(Map<TopicPartition, Long> changelogOffsets) {
        writePending();
        super.commit(changelogOffsets);
    }

    @Override
    public void close() {
        clearCache();
        if (part != null) {
            part.leave();
            part = null;
        }
        failure = null;
        super.close();
    }

    @Override
    public byte[] get(Bytes key) {
        writePending();
        metrics.read();
        return wrapped().get(key);
    }

    @Override
    public void put(Bytes key, byte[] value) {
        writePending();
        wrapped().put(key, value);
        dirty.remove(key);
    }

    @Override
    public byte[] putIfAbsent(Bytes key, byte[] value) {
        writePending();
        byte[] before = wrapped().putIfAbsent(key, value);
        if (before == null) {
            dirty.remove(key);
        }
        return before;
    }

    @Override
    public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
        writePending();
        wrapped().putAll(entries);
        entries.forEach(entry -> dirty.remove(entry.key));
    }

    @Override
    public byte[] delete(Bytes key) {
        writePending();
        byte[] before = wrapped().delete(key);
        dirty.remove(key);
        return before;
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
        writePending();
        return wrapped().range(from, to);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> reverseRange(Bytes from, Bytes to) {
        writePending();
        return wrapped().reverseRange(from, to);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> all() {
        writePending();
        return wrapped().all();
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> reverseAll() {
        writePending();
        return wrapped().reverseAll();
    }

    @Override
    public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
            P prefix, PS prefixKeySerializer) {
        writePending();
        return wrapped().prefixScan(prefix, prefixKeySerializer);
    }

    @Override
    public long approximateNumEntries() {
        writePending();
        return wrapped().approximateNumEntries();
    }

    @Override
    public <R> QueryResult<R> query(
            Query<R> query, PositionBound positionBound, QueryConfig config) {
        writePending();
        return wrapped().query(query, positionBound, config);
    }
}
