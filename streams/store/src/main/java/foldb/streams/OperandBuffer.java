package foldb.streams;

import foldb.streams.engine.FoldbException;
import foldb.streams.engine.WriteBuffer;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
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
 * <p>A key is new if the database has neither a value nor an operand of it. Its numbers stay here
 * until the fold. Together they are the folded value, which crosses as a put and is not read. A
 * reader that comes earlier has them written as an operand, and the key is no longer new.
 *
 * <p>One stream thread adds operands. Interactive queries write the buffer from other threads
 * before they read, so each method takes the monitor. A reader writes a large buffer in pieces, and
 * lets the stream thread go on between them.
 */
final class OperandBuffer {
    private static final int CAPACITY_BYTES = 16 << 10;

    /** The memory of combined numbers at which they cross, in bytes. */
    private static final int NUMBERS_BYTES = 256 << 10;

    /** The numbers of new keys that a reader writes at once: less than a millisecond's work. */
    private static final int PIECE = 1 << 10;

    /** An estimate of the memory of a combined number besides its key, in bytes. */
    private static final int NUMBER_BYTES = 112;

    private final FoldbStore store;
    private final MergeOperator operator;
    private final WriteBuffer pending = new WriteBuffer();
    /** The numbers of keys that the database may have. */
    private final Map<Bytes, Combined> numbers = new HashMap<>();
    private int numbersBytes;
    /** The numbers of new keys, the oldest first. */
    private Map<Bytes, Combined> newNumbers = new LinkedHashMap<>();
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

        Combined(long timestamp, long number) {
            this.timestamp = timestamp;
            this.number = number;
        }

        byte[] operand() {
            return ByteBuffer.allocate(MergeOperator.STAMP_BYTES + Long.BYTES)
                .putLong(timestamp).putLong(number).array();
        }
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
            // Such a key is never taken for new.
            add(key.get(), operator.operand(timestamp, value), current);
            return;
        }
        long number = ByteBuffer.wrap(value).getLong();
        Combined combined = combined(key);
        if (combined == null) {
            begin(key, new Combined(timestamp, number));
        } else {
            combined.timestamp = Math.max(combined.timestamp, timestamp);
            combined.number = operator.combine(combined.number, number);
        }
        merged.note(current);
        if (numbersBytes >= NUMBERS_BYTES) {
            write(this::queueNumbers);
        }
    }

    private Combined combined(Bytes key) {
        Combined combined = newNumbers.get(key);
        return combined == null ? numbers.get(key) : combined;
    }

    private void begin(Bytes key, Combined first) {
        if (store.noteStored(key)) {
            newNumbers.put(key, first);
        } else {
            numbers.put(key, first);
            numbersBytes += key.get().length + NUMBER_BYTES;
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

    private ProcessorStateException failed(Throwable e) {
        return new ProcessorStateException(
            "Error while merging into store " + store.name() + ": " + e.getMessage(), e);
    }

    /**
     * Writes the operands. The failure of one write fails every later call, because a query's
     * thread may have met it first: the task must not commit without these merges.
     */
    void write() {
        for (int left = writeOldest(PIECE); left > 0; left -= PIECE) {
            // Without a pause, this thread would take the monitor again before a waiting one.
            LockSupport.parkNanos(1);
            // The last piece has what was added meanwhile, too.
            writeOldest(left <= PIECE ? Integer.MAX_VALUE : PIECE);
        }
    }

    /**
     * Writes the operands, but of new keys only the oldest.
     *
     * @return how many new keys are left
     */
    private synchronized int writeOldest(int most) {
        write(() -> {
            queueNumbers();
            var oldest = newNumbers.entrySet().iterator();
            for (int i = 0; i < most && oldest.hasNext(); i++) {
                Map.Entry<Bytes, Combined> entry = oldest.next();
                queue(entry.getKey(), entry.getValue());
                oldest.remove();
            }
        });
        return newNumbers.size();
    }

    /** Writes the operands of one key, and maybe others. */
    synchronized void write(Bytes key) {
        write(() -> {
            queueNumbers();
            Combined combined = newNumbers.remove(key);
            if (combined != null) {
                queue(key, combined);
            }
        });
    }

    /**
     * Writes the operands before a fold of some keys: the numbers of a new key as its value.
     *
     * @param keys the keys that are folded
     * @return the values of the new ones, which the database has; {@code null} for the others,
     *     which it folds
     */
    synchronized byte[][] writeForFold(List<Bytes> keys) {
        byte[][] written = new byte[keys.size()][];
        write(() -> {
            queueNumbers();
            for (int i = 0; i < written.length; i++) {
                Combined value = newNumbers.remove(keys.get(i));
                if (value != null) {
                    written[i] = value.operand();
                    pending.put(keys.get(i).get(), written[i]);
                    writeFullPending();
                }
            }
        });
        if (newNumbers.isEmpty()) {
            // A map keeps the memory of all that it had.
            newNumbers = new LinkedHashMap<>();
        }
        return written;
    }

    /** Returns an estimate of the memory of the numbers of new keys besides the keys, in bytes. */
    synchronized long newNumbersBytes() {
        return (long) NUMBER_BYTES * newNumbers.size();
    }

    private void write(Runnable queueMore) {
        if (failure != null) {
            throw failure;
        }
        if (pending.size() == 0 && numbers.isEmpty() && newNumbers.isEmpty()) {
            return;
        }
        try {
            queueMore.run();
            writePending();
        } catch (RuntimeException | Error e) {
            // It is unknown which of them the database has.
            forget();
            failure = failed(e);
            throw failure;
        }
        if (newNumbers.isEmpty()) {
            merged.written();
        }
    }

    private void queueNumbers() {
        numbers.forEach(this::queue);
        numbers.clear();
        numbersBytes = 0;
    }

    private void queue(Bytes key, Combined combined) {
        pending.merge(key.get(), combined.operand());
        writeFullPending();
    }

    private void writeFullPending() {
        if (pending.byteSize() >= CAPACITY_BYTES) {
            writePending();
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
        newNumbers.clear();
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
