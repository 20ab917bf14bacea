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
    private static final long ENTRY_BYTES = 160;

    private final Map<Bytes, ProcessorRecordContext> contexts = new HashMap<>();
    private long bytes;

    void add(Bytes key, ProcessorRecordContext context) {
        ProcessorRecordContext before = contexts.put(key, context);
        if (before == null) {
            bytes += ENTRY_BYTES + key.get().length + estimate(context);
        } else if (before != context) {
            bytes += estimate(context) - estimate(before);
        }
    }

    void remove(Bytes key) {
        ProcessorRecordContext before = contexts.remove(key);
        if (before != null) {
            bytes -= ENTRY_BYTES + key.get().length + estimate(before);
        }
    }

    /** Adds a key again that a fold did not finish, unless a newer record changed it. */
    void keep(Map.Entry<Bytes, ProcessorRecordContext> entry) {
        if (!contexts.containsKey(entry.getKey())) {
            add(entry.getKey(), entry.getValue());
        }
    }

    boolean isEmpty() {
        return contexts.isEmpty();
    }

    boolean reaches(MergeConfig bounds) {
        return contexts.size() >= bounds.maxDirtyKeys() || bytes >= bounds.maxDirtyBytes();
    }

    /** Returns the keys in their order, each with its context. */
    List<Map.Entry<Bytes, ProcessorRecordContext>> sorted() {
        return contexts.entrySet().stream().sorted(Map.Entry.comparingByKey()).toList();
    }

    private static long estimate(ProcessorRecordContext context) {
        long raw = length(context.sourceRawKey()) + length(context.sourceRawValue());
        return raw + context.residentMemorySizeEstimate();
    }

    private static long length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }
}
