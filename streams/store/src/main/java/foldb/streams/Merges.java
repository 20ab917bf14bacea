package foldb.streams;

import foldb.streams.engine.FoldbException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.internals.Change;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.state.internals.CacheFlushListener;

/**
 * The merges of one store, from the operand to the folded value.
 *
 * <p>A merge enters a buffer, and its key enters the set of dirty keys. At pre-commit, Streams
 * calls {@link #flush()}. It reads each dirty key once, puts the folded value through the layer
 * that logs changes, and forwards the value to the flush listener. The changelog topic is
 * compacted, so it holds full values and never operands.
 *
 * <p>One stream thread merges and folds. Only {@link #write()} may run in other threads.
 */
final class Merges {
    /** The stores that this thread's flush made dirty after their own flush of the same commit. */
    private static final ThreadLocal<Set<Merges>> LATE = new ThreadLocal<>();

    private final MergingStore store;
    private final FoldbStore data;
    private final MergeOperator operator;
    private final OperandBuffer buffer;
    private final MergeMetrics metrics = new MergeMetrics();
    private final DirtyKeys.Order order;
    private final ShadowValues shadows;
    private DirtyKeys dirty;
    /** What the dirty keys take of the process's bound; null while the store is closed. */
    private DirtyTotal.Part part;
    private boolean folding;
    /** Whether no record was merged since the last flush, except by flushes of other stores. */
    private boolean flushed;
    private MergeConfig bounds;
    private InternalProcessorContext<?, ?> context;
    private CacheFlushListener<byte[], byte[]> listener;

    /**
     * Makes the merges of a closed store.
     *
     * @param store the store
     * @param data the store's database
     * @param order the order in which keys are folded and forwarded
     */
    Merges(MergingStore store, FoldbStore data, MergeOperator operator, DirtyKeys.Order order) {
        this.store = store;
        this.data = data;
        this.operator = operator;
        this.order = order;
        this.buffer = new OperandBuffer(data, operator);
        this.shadows = new ShadowValues(data.name(), operator);
        this.dirty = new DirtyKeys(order);
    }

    MergeOperator operator() {
        return operator;
    }

    /** Returns what aggregators computed beside the merges. */
    ShadowValues shadows() {
        return shadows;
    }

    /** Returns the folded value of a stored key with its timestamp, or {@code null}. */
    byte[] value(Bytes stored) {
        buffer.write();
        try {
            return data.database().get(stored.get());
        } catch (FoldbException e) {
            throw data.failed("Error while getting value for key from", e);
        }
    }

    /** Begins the merges of a store that opens. {@link #opened()} follows. */
    void init(StateStoreContext stateStoreContext) {
        context = ProcessorContextUtils.asInternalProcessorContext(stateStoreContext);
        bounds = MergeConfig.of(stateStoreContext.appConfigs());
    }

    /** Runs when the database is open. */
    void opened() {
        if (part == null) {
            part = DirtyTotal.PROCESS.join(data::reserve);
        }
        metrics.register(context, FoldbStore.METRICS_SCOPE, data.name(), () -> dirty);
    }

    /**
     * Merges an operand into a key without a read.
     *
     * @param key the stored key
     * @param timestamp the timestamp of the operand, in milliseconds
     * @param value the serialized value of the operand
     * @throws StreamsException if the operator cannot fold the value, or the key or value is too
     *     large; the store stays as it was
     * @throws ProcessorStateException if the database refuses the write
     */
    void merge(Bytes key, long timestamp, byte[] value) {
        add(key, timestamp, value);
        foldIfFull();
    }

    /** Merges as {@link #merge} does, but never folds. {@link #foldIfFull()} follows. */
    void add(Bytes key, long timestamp, byte[] value) {
        operator.check(data.name(), value);
        data.checkOpen();
        ProcessorRecordContext current = context.recordContext();
        if (operator.isNumber()) {
            buffer.addNumber(key, timestamp, value, current);
        } else {
            byte[] operand = operator.operand(timestamp, value);
            if (operator.hasFormat()) {
                check(operand);
            }
            buffer.add(key.get(), operand, current);
        }
        metrics.merged();
        dirty.add(key, current == null ? unknown(timestamp) : current);
        noteLate();
    }

    /** Folds all dirty keys if one of the bounds is reached. */
    void foldIfFull() {
        boolean isTotalReached = part != null
            && part.reaches(dirty.bytes(), bounds.maxTotalBytes());
        if (isTotalReached || dirty.reaches(bounds)) {
            metrics.foldedEarly();
            foldAll();
        }
    }

    /** Refuses a malformed operand now: in the buffer it would fail the write of all others. */
    private void check(byte[] operand) {
        try {
            data.database().checkOperand(operand);
        } catch (FoldbException e) {
            throw new StreamsException("The operand of a merge into store " + data.name()
                + " must be " + e.getMessage() + ": merge operands that SetOperands or"
                + " SketchOperands made, or register another operator", e);
        }
    }

    private static ProcessorRecordContext unknown(long timestamp) {
        return new ProcessorRecordContext(timestamp, -1, -1, null, new RecordHeaders());
    }

    /** Has the running flush fold this store again, if it did so before this merge. */
    private void noteLate() {
        Set<Merges> late = LATE.get();
        if (late == null) {
            flushed = false;
        } else if (flushed) {
            late.add(this);
        }
    }

    /** Writes the buffer, so that a read sees every merge. Any thread may call it. */
    void write() {
        buffer.write();
    }

    /** Counts a read of one key. */
    void read() {
        metrics.read();
    }

    /** Forgets that a key is dirty: it has a new value, which is logged. */
    void replaced(Bytes key) {
        dirty.remove(key);
        shadows.forget(key);
    }

    /**
     * Takes the listener that receives folded values.
     *
     * @return whether the store will forward; {@code false} where old values are asked for, which
     *     a fold does not know
     */
    boolean setFlushListener(
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
    void flush() {
        Set<Merges> late = new LinkedHashSet<>();
        LATE.set(late);
        try {
            foldAll();
        } finally {
            LATE.remove();
        }
        flushed = true;
        late.forEach(Merges::flush);
    }

    /** Folds every dirty key; keys that become dirty meanwhile follow in turn. */
    private void foldAll() {
        if (folding) {
            return;
        }
        folding = true;
        try {
            while (!dirty.isEmpty()) {
                foldRound();
            }
            store.folded();
        } finally {
            folding = false;
            countDirty();
        }
    }

    private void foldRound() {
        List<DirtyKeys.Entry> round = dirty.entries();
        dirty = new DirtyKeys(order);
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

    private void fold(List<DirtyKeys.Entry> keys) {
        buffer.write();
        byte[][] values = readAll(keys);
        metrics.folded(values.length);
        for (int i = 0; i < values.length; i++) {
            shadows.check(keys.get(i).key(), values[i]);
        }
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
            store.putFolded(entries);
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
            return data.database().getAll(keys.stream().map(e -> e.key().get()).toList());
        } catch (FoldbException e) {
            throw new ProcessorStateException("Error while folding " + keys.size()
                + " keys of store " + data.name() + ": " + e.getMessage(), e);
        }
    }

    private void forward(DirtyKeys.Entry entry, byte[] value) {
        context.setRecordContext(entry.context());
        listener.apply(new Record<>(store.loggedKey(entry.key()), new Change<>(value, null),
            entry.context().timestamp(), entry.context().headers()));
    }

    /** Forgets the dirty keys. Streams calls it when a task changes its type, after a commit. */
    void clear() {
        buffer.clear();
        shadows.clear();
        dirty = new DirtyKeys(order);
        countDirty();
    }

    private void countDirty() {
        if (part != null) {
            part.count(dirty.bytes());
        }
    }

    /** Forgets all merges: the store closes. */
    void close() {
        clear();
        if (part != null) {
            part.leave();
            part = null;
        }
        buffer.close();
    }
}
