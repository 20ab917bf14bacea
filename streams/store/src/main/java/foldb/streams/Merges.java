package foldb.streams;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.kstream.internals.Change;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.state.internals.CacheFlushListener;

/**
 * The merges of one store, from the change of a key to the folded value.
 *
 * <p>A merge enters a buffer, and its key enters the set of dirty keys. At pre-commit, Streams
 * calls {@link #flush()}. It reads each dirty key at most once, puts the folded value through the
 * layer that logs changes, and forwards the value to the flush listener. The changelog topic is
 * compacted, so it holds full values and never operands.
 *
 * <p>One stream thread merges and folds. Only {@link #write()} and {@link #isFolding()} may run in
 * other threads.
 *
 * <p>The subclasses are the buffers: {@link OperandMerges} keeps operands, and
 * {@link SessionMerges} keeps sessions.
 */
abstract class Merges {
    /** The stores that this thread's flush made dirty after their own flush of the same commit. */
    private static final ThreadLocal<Set<Merges>> LATE = new ThreadLocal<>();

    private final MergingStore store;
    private final FoldbStore data;
    private final int foldChunk;
    private final MergeMetrics metrics = new MergeMetrics();
    private final DirtyKeys.Order order;
    private DirtyKeys dirty;
    /** What the dirty keys take of the process's bound; null while the store is closed. */
    private DirtyTotal.Part part;
    /** Other threads see the state of a moment ago. */
    private volatile boolean folding;
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
     * @param foldChunk how many keys a fold reads, logs and forwards together
     * @param order the order in which keys are folded and forwarded
     */
    Merges(MergingStore store, FoldbStore data, int foldChunk, DirtyKeys.Order order) {
        this.store = store;
        this.data = data;
        this.foldChunk = foldChunk;
        this.order = order;
        this.dirty = new DirtyKeys(order);
    }

    /** Writes the buffer, so that a reader of the database sees every merge, from any thread. */
    abstract void write();

    /**
     * Returns the values of dirty keys as they will be logged; {@code null} where there is none.
     *
     * @throws ProcessorStateException if the database cannot be read
     */
    abstract byte[][] read(List<Bytes> keys);

    /** Returns an estimate of the memory that the buffer takes until the next fold, in bytes. */
    abstract long bufferBytes();

    /** Forgets what the buffer has. */
    abstract void clearBuffer();

    /** Forgets what the buffer has, and its failure: the store closes. */
    abstract void closeBuffer();

    /** Runs before the folded value of a key is logged; {@code null} if it has none. */
    void checkFolded(Bytes key, byte[] value) {
    }

    /** Returns whether a fold logs and forwards that a dirty key without a value is deleted. */
    boolean deletes(Bytes key) {
        return false;
    }

    /** Runs after entries were logged and forwarded. A key without a value is deleted. */
    void forwarded(List<KeyValue<Bytes, byte[]>> entries) {
    }

    /** Returns the database of the store. */
    final FoldbStore data() {
        return data;
    }

    /** Returns the record that Streams processes now, or {@code null}. */
    final ProcessorRecordContext current() {
        return context.recordContext();
    }

    /** Begins the merges of a store that opens. {@link #opened()} follows. */
    void init(StateStoreContext stateStoreContext) {
        context = ProcessorContextUtils.asInternalProcessorContext(stateStoreContext);
        bounds = MergeConfig.of(stateStoreContext.appConfigs());
    }

    /** Runs when the database is open. */
    void opened() {
        if (part == null) {
            part = DirtyTotal.PROCESS.join(data::reserveDirtyKeys);
        }
        metrics.register(context, FoldbStore.METRICS_SCOPE, data.name(), () -> dirty.size(),
            this::bytes);
    }

    /**
     * Notes that a merge has changed a key. {@link #foldIfFull()} follows.
     *
     * @param timestamp the timestamp of the change, in milliseconds
     */
    final void changed(Bytes key, long timestamp) {
        ProcessorRecordContext current = current();
        dirty.add(key, current == null ? unknown(timestamp) : current);
        noteLate();
    }

    /** Folds all dirty keys if one of the bounds is reached. */
    final void foldIfFull() {
        long buffered = bufferBytes();
        boolean isTotalReached = part != null
            && part.reaches(dirty.bytes() + buffered, bounds.maxTotalBytes());
        if (isTotalReached || dirty.reaches(bounds, buffered)) {
            metrics.foldedEarly();
            foldAll();
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

    private long bytes() {
        return dirty.bytes() + bufferBytes();
    }

    /** Counts a merge. */
    final void merged() {
        metrics.merged();
    }

    /** Counts a read of one key. */
    void read() {
        metrics.read();
    }

    /** Counts keys that a fold reads in the database. */
    final void readInFold(int keys) {
        metrics.readInFold(keys);
    }

    /** Forgets that a key is dirty: it has a new value, which is logged. */
    void replaced(Bytes key) {
        dirty.remove(key);
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

    /** Returns whether a fold reads, logs and forwards keys now. */
    final boolean isFolding() {
        return folding;
    }

    private void foldRound() {
        List<DirtyKeys.Entry> round = dirty.entries();
        dirty = new DirtyKeys(order);
        int done = 0;
        try {
            while (done < round.size()) {
                int end = Math.min(done + foldChunk, round.size());
                fold(round.subList(done, end));
                done = end;
            }
        } finally {
            // After an exception, an exception handler may let the task go on.
            round.subList(done, round.size()).forEach(dirty::keep);
        }
    }

    private void fold(List<DirtyKeys.Entry> keys) {
        byte[][] values = read(keys.stream().map(DirtyKeys.Entry::key).toList());
        metrics.folded(values.length);
        List<KeyValue<Bytes, byte[]>> entries = new ArrayList<>(values.length);
        List<ProcessorRecordContext> contexts = new ArrayList<>(values.length);
        for (int i = 0; i < values.length; i++) {
            Bytes key = keys.get(i).key();
            checkFolded(key, values[i]);
            // A key is absent if a listener of an earlier chunk deleted it. The delete is logged.
            if (values[i] != null || deletes(key)) {
                entries.add(KeyValue.pair(key, values[i]));
                contexts.add(keys.get(i).context());
            }
        }
        ProcessorRecordContext before = context.recordContext();
        try {
            if (before == null && !keys.isEmpty()) {
                context.setRecordContext(keys.get(keys.size() - 1).context());
            }
            store.putFolded(entries);
            for (int i = 0; i < entries.size(); i++) {
                context.setRecordContext(contexts.get(i));
                store.logFolded(entries.get(i).key, entries.get(i).value);
                forward(entries.get(i));
            }
            forwarded(entries);
        } finally {
            context.setRecordContext(before);
        }
    }

    private void forward(KeyValue<Bytes, byte[]> entry) {
        if (listener != null) {
            listener.apply(new Record<>(store.loggedKey(entry.key),
                new Change<>(entry.value, null), current().timestamp(), current().headers()));
        }
    }

    /** Forgets the dirty keys. Streams calls it when a task changes its type, after a commit. */
    void clear() {
        clearBuffer();
        dirty = new DirtyKeys(order);
        countDirty();
    }

    private void countDirty() {
        if (part != null) {
            part.count(bytes());
        }
    }

    /** Forgets all merges: the store closes. */
    void close() {
        closeBuffer();
        dirty = new DirtyKeys(order);
        if (part != null) {
            part.leave();
            part = null;
        }
    }
}
