package foldb.streams;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;

/**
 * The keys that have operands since the last fold, each with the context of its newest record. A
 * fold forwards the key's value in this context, as Streams' record cache does.
 */
final class DirtyKeys {
    /** An estimate of the memory of an entry besides its key and context, in bytes. */
    private static final long ENTRY_BYTES = 184;

    private final Map<Bytes, Newest> keys = new HashMap<>();
    private long bytes;

    /** The newest record of a key. Streams changes contexts later, so the size is kept. */
    private static final class Newest {
        private ProcessorRecordContext context;
        private long bytes;
    }

    /** A dirty key and the context of its newest record. */
    record Entry(Bytes key, ProcessorRecordContext context) {
    }

    void add(Bytes key, ProcessorRecordContext context) {
        Newest newest = keys.get(key);
        if (newest == null) {
            newest = new Newest();
            keys.put(key, newest);
            bytes += ENTRY_BYTES + key.get().length;
        }
        if (newest.context != context) {
            bytes -= newest.bytes;
            newest.context = context;
            newest.bytes = estimate(context);
            bytes += newest.bytes;
        }
    }

    void remove(Bytes key) {
        Newest newest = keys.remove(key);
        if (newest != null) {
            bytes -= ENTRY_BYTES + key.get().length + newest.bytes;
        }
    }

    /** Adds a key again that a fold did not finish, unless a newer record changed it. */
    void keep(Entry entry) {
        if (!keys.containsKey(entry.key())) {
            add(entry.key(), entry.context());
        }
    }

    boolean isEmpty() {
        return keys.isEmpty();
    }

    /** Returns an estimate of the memory of all keys and contexts, in bytes. */
    long bytes() {
        return bytes;
    }

    boolean reaches(MergeConfig bounds) {
        return keys.size() >= bounds.maxDirtyKeys() || bytes >= bounds.maxDirtyBytes();
    }

    /** Returns the keys in their order. */
    List<Entry> sorted() {
        return keys.entrySet().stream()
            .sorted(Map.Entry.comparingByKey())
            .map(entry -> new Entry(entry.getKey(), entry.getValue().context))
            .toList();
    }

    private static long estimate(ProcessorRecordContext context) {
        long raw = length(context.sourceRawKey()) + length(context.sourceRawValue());
        return raw + context.residentMemorySizeEstimate();
    }

    private static long length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }
}
