package foldb.streams;

import foldb.streams.engine.FoldbException;
import foldb.streams.engine.WriteBuffer;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;

/**
 * The operands of a merge store that its database does not have yet. They cross to the engine
 * together, a few kilobytes at a time.
 *
 * <p>The numbers of one key are combined here: many records of few keys then cross as one operand
 * for each key. Other operands cross as they are.
 *
 * <p>One stream thread adds operands. Interactive queries write the buffer from other threads
 * before they read, so each method holds the monitor.
 */
final class OperandBuffer {
    private static final int CAPACITY_BYTES = 16 << 10;

    /** The memory of combined numbers at which they cross, in bytes. */
    private static final int NUMBERS_BYTES = 256 << 10;

    /** An estimate of the memory of a combined number besides its key, in bytes. */
    private static final int NUMBER_BYTES = 112;

    private final FoldbStore store;
    private final MergeOperator operator;
    private final WriteBuffer pending = new WriteBuffer();
    private final Map<Bytes, Combined> numbers = new HashMap<>();
    private int numbersBytes;
    private final MergedRecords merged;
    private ProcessorStateException failure;

    OperandBuffer(FoldbStore store, MergeOperator operator) {
        this.store = store;
        this.operator = operator;
        this.merged = new MergedRecords(store);
    }

    /** The operands of one key, combined: the greatest timestamp and the number. */
    private static final class Combined {
        private long timestamp;
        private long number;
    }

    /**
     * Adds the operand of a number.
     *
     * @param value the number, as 8 bytes
     * @param current the record that it comes from, or {@code null}
     * @throws ProcessorStateException if the database refuses a write
     */
    synchronized void addNumber(
            Bytes key, long timestamp, byte[] value, ProcessorRecordContext current) {
        if (key.get().length >= CAPACITY_BYTES / 2) {
            add(key.get(), operator.operand(timestamp, value), current);
            return;
        }
        long number = ByteBuffer.wrap(value).getLong();
        Combined combined = numbers.get(key);
        if (combined == null) {
            combined = new Combined();
            combined.timestamp = timestamp;
            combined.number = number;
            numbers.put(key, combined);
            numbersBytes += key.get().length + NUMBER_BYTES;
        } else {
            combined.timestamp = Math.max(combined.timestamp, timestamp);
            combined.number = operator.combine(combined.number, number);
        }
        merged.note(current);
        if (numbersBytes >= NUMBERS_BYTES) {
            write();
        }
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
            merged.note(current);
            merged.written();
            return;
        }
        pending.merge(key, operand);
        merged.note(current);
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

    /**
     * Writes the operands. The failure of one write fails every later call, because a query's
     * thread may have met it first: the task must not commit without these merges.
     */
    synchronized void write() {
        if (failure != null) {
            throw failure;
        }
        if (pending.size() > 0 || !numbers.isEmpty()) {
            try {
                writeNumbers();
                writePending();
                merged.written();
            } catch (FoldbException e) {
                failure = failed(e);
                throw failure;
            } finally {
                forget();
            }
        }
    }

    private void writeNumbers() {
        for (Map.Entry<Bytes, Combined> entry : numbers.entrySet()) {
            byte[] operand = ByteBuffer.allocate(MergeOperator.STAMP_BYTES + Long.BYTES)
                .putLong(entry.getValue().timestamp).putLong(entry.getValue().number).array();
            pending.merge(entry.getKey().get(), operand);
            if (pending.byteSize() >= CAPACITY_BYTES) {
                writePending();
            }
        }
    }

    private void writePending() {
        if (pending.size() > 0) {
            store.database().write(pending);
            pending.clear();
        }
    }

    private void forget() {
        pending.clear();
        numbers.clear();
        numbersBytes = 0;
    }

    /** Forgets the operands. */
    synchronized void clear() {
        forget();
        merged.clear();
    }

    /** Forgets the operands and a failure: the store is closed. */
    synchronized void close() {
        clear();
        failure = null;
    }
}
