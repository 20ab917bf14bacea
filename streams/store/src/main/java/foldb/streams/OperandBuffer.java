package foldb.streams;

import foldb.streams.engine.FoldbException;
import foldb.streams.engine.WriteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.query.Position;

/**
 * The operands of a merge store that its database does not have yet: a few kilobytes that cross to
 * the engine together.
 *
 * <p>One stream thread adds operands. Interactive queries write the buffer from other threads
 * before they read, so each method holds the monitor.
 */
final class OperandBuffer {
    private static final int CAPACITY_BYTES = 16 << 10;

    private final FoldbStore store;
    private final WriteBuffer pending = new WriteBuffer();
    /** The newest records that the buffer has and the position lacks, one for each partition. */
    private final List<ProcessorRecordContext> merged = new ArrayList<>();
    private ProcessorStateException failure;

    OperandBuffer(FoldbStore store) {
        this.store = store;
    }

    /**
     * Adds an operand.
     *
     * @param current the record that it comes from, or {@code null}
     * @throws ProcessorStateException if the database refuses a write
     */
    synchronized void add(byte[] key, byte[] operand, ProcessorRecordContext current) {
        if (key.length + operand.length >= CAPACITY_BYTES) {
            write();
            mergeAlone(key, operand);
            note(current);
            updatePosition();
            return;
        }
        pending.merge(key, operand);
        note(current);
        if (pending.byteSize() >= CAPACITY_BYTES) {
            write();
        }
    }

    /** Merges what may exceed the database's limits, past the buffer: it loses no other merge. */
    private void mergeAlone(byte[] key, byte[] operand) {
        try {
            store.database().merge(key, operand);
        } catch (FoldbException e) {
            throw failed(e);
        }
    }

    private ProcessorStateException failed(FoldbException e) {
        return new ProcessorStateException(
            "Error while merging into store " + store.name() + ": " + e.getMessage(), e);
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
     * Writes the operands. The failure of one write fails every later call, because a query's
     * thread may have met it first: the task must not commit without these merges.
     */
    synchronized void write() {
        if (failure != null) {
            throw failure;
        }
        if (pending.size() > 0) {
            try {
                store.database().write(pending);
                updatePosition();
            } catch (FoldbException e) {
                failure = failed(e);
                throw failure;
            } finally {
                pending.clear();
            }
        }
    }

    /**
     * Adds the merged records to the position of the data. It follows the write of the buffer, so
     * the position never claims a merge that the database lacks.
     */
    private void updatePosition() {
        Position position = store.getPosition();
        synchronized (position) {
            for (ProcessorRecordContext record : merged) {
                position.withComponent(record.topic(), record.partition(), record.offset());
            }
        }
        merged.clear();
    }

    /** Forgets the operands. */
    synchronized void clear() {
        pending.clear();
        merged.clear();
    }

    /** Forgets the operands and a failure: the store is closed. */
    synchronized void close() {
        clear();
        failure = null;
    }
}
