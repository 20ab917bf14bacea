package foldb.streams;

import foldb.streams.engine.FoldbException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.StreamsException;

/**
 * Blind merges: a key's operands enter a buffer, and cross to the database unread. The database
 * folds them. Where the database has no value to fold them with, the buffer knows the result.
 */
final class OperandMerges extends Merges {
    private final MergeOperator operator;
    private final OperandBuffer buffer;
    private final ShadowValues shadows;
    /** The keys of the last {@link #read} whose values the database has already. */
    private final Set<Bytes> written = new HashSet<>();

    /**
     * Makes the merges of a closed store.
     *
     * @param store the store
     * @param data the store's database
     * @param order the order in which keys are folded and forwarded
     */
    OperandMerges(MergingStore store, FoldbStore data, MergeOperator operator,
            DirtyKeys.Order order) {
        super(store, data, operator.foldChunk(), order);
        this.operator = operator;
        this.buffer = new OperandBuffer(data, operator);
        this.shadows = new ShadowValues(data.name(), operator);
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
        buffer.write(stored);
        try {
            return data().database().get(stored.get());
        } catch (FoldbException e) {
            throw data().failed("Error while getting value for key from", e);
        }
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
        operator.check(data().name(), value);
        data().checkOpen();
        if (operator.isNumber()) {
            buffer.addNumber(key, timestamp, value, current());
        } else {
            byte[] operand = operator.operand(timestamp, value);
            if (operator.hasFormat()) {
                check(operand);
            }
            buffer.add(key.get(), operand, current());
        }
        merged();
        changed(key, timestamp);
    }

    /** Refuses a malformed operand now: in the buffer it would fail the write of all others. */
    private void check(byte[] operand) {
        try {
            data().database().checkOperand(operand);
        } catch (FoldbException e) {
            throw new StreamsException("The operand of a merge into store " + data().name()
                + " must be " + e.getMessage() + ": merge operands that SetOperands or"
                + " SketchOperands made, or register another operator", e);
        }
    }

    @Override
    byte[][] read(List<Bytes> keys) {
        byte[][] values = buffer.writeForFold(keys);
        written.clear();
        List<byte[]> asked = new ArrayList<>();
        for (int i = 0; i < values.length; i++) {
            if (values[i] == null) {
                asked.add(keys.get(i).get());
            } else {
                written.add(keys.get(i));
            }
        }
        fill(values, asked);
        return values;
    }

    /** Sets the values that are {@code null} to those of some keys in the database. */
    private void fill(byte[][] values, List<byte[]> keys) {
        if (keys.isEmpty()) {
            return;
        }
        readInFold(keys.size());
        byte[][] read;
        try {
            read = data().database().getAll(keys);
        } catch (FoldbException e) {
            throw new ProcessorStateException("Error while folding " + keys.size()
                + " keys of store " + data().name() + ": " + e.getMessage(), e);
        }
        int next = 0;
        for (int i = 0; i < values.length; i++) {
            if (values[i] == null) {
                values[i] = read[next++];
            }
        }
    }

    /** Returns those entries of the last {@link #read} that the database does not have yet. */
    List<KeyValue<Bytes, byte[]>> takeUnwritten(List<KeyValue<Bytes, byte[]>> entries) {
        List<KeyValue<Bytes, byte[]>> unwritten =
            entries.stream().filter(entry -> !written.contains(entry.key)).toList();
        written.clear();
        return unwritten;
    }

    @Override
    void checkFolded(Bytes key, byte[] value) {
        shadows.check(key, value);
    }

    @Override
    void replaced(Bytes key) {
        super.replaced(key);
        shadows.forget(key);
    }

    @Override
    void write() {
        buffer.write();
    }

    /** Writes the buffer as far as a reader of one stored key needs it, from any thread. */
    void write(Bytes key) {
        buffer.write(key);
    }

    /** The numbers of new keys. The other operands are written before they take much. */
    @Override
    long bufferBytes() {
        return buffer.newNumbersBytes();
    }

    @Override
    void clearBuffer() {
        buffer.clear();
        written.clear();
        shadows.clear();
    }

    @Override
    void closeBuffer() {
        clearBuffer();
        buffer.close();
    }
}
