package foldb.streams;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;

/**
 * The keys that have changes since the last fold, each with the context of its newest record. A
 * fold forwards the key's value in this context, as Streams' record cache does.
 */
final class DirtyKeys {
    /** An estimate of the memory of an entry besides its key and context, in bytes. */
    private static final long ENTRY_BYTES = 184;

    /** The order of the keys of a fold. */
    enum Order {
        /** By key. Reads of many keys then touch each block once. */
        BY_KEY,
        /** The key first whose newest record is oldest, as in Streams' record cache. */
        BY_RECORD
    }

    private final Order order;
    private final Map<Bytes, Newest> keys;
    private long bytes;
    private ProcessorRecordContext last;
    private long lastBytes;

    /** The newest record of a key. Streams changes contexts later, so the size is kept. */
    private static final class Newest {
        private ProcessorRecordContext context;
        private long bytes;
    }

    /** A dirty key and the context of its newest record. */
    record Entry(Bytes key, ProcessorRecordContext context) {
    }

    DirtyKeys(Order order) {
        this.order = order;
        // A map in the order of accesses: each record accesses its key.
        keys = order == Order.BY_KEY ? new HashMap<>() : new LinkedHashMap<>(16, 0.75f, true);
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
            newest.bytes = size(context);
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

    /** Returns the number of keys. Other threads see one of a moment ago. */
    int size() {
        return keys.size();
    }

    /** Returns an estimate of the memory of all keys and contexts, in bytes. */
    long bytes() {
        return bytes;
    }

    /**
     * Returns whether a bound is reached.
     *
     * @param more memory besides that of the keys, in bytes
     */
    boolean reaches(MergeConfig bounds, long more) {
        return keys.size() >= bounds.maxDirtyKeys() || bytes + more >= bounds.maxDirtyBytes();
    }

    /** Returns the keys in the order of the set. */
    List<Entry> entries() {
        Stream<Map.Entry<Bytes, Newest>> entries = keys.entrySet().stream();
        return (order == Order.BY_KEY ? entries.sorted(Map.Entry.comparingByKey()) : entries)
            .map(entry -> new Entry(entry.getKey(), entry.getValue().context))
            .toList();
    }

    /** Returns the size of a context. A record of several windows has one context. */
    private long size(ProcessorRecordContext context) {
        if (context != last) {
            last = context;
            lastBytes = estimate(context);
        }
        return lastBytes;
    }

    private static long estimate(ProcessorRecordContext context) {
        long raw = length(context.sourceRawKey()) + length(context.sourceRawValue());
        return raw + context.residentMemorySizeEstimate();
    }

    private static long length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }
}
