package foldb.streams;

import java.util.Map;
import org.apache.kafka.common.config.ConfigException;

/** The configuration keys of foldb's stores. They stand beside those of Kafka Streams. */
public final class FoldbConfig {
    /**
     * The memory that all stores of the process share, in bytes: write buffers, changed keys of
     * merging stores, filters, block cache, indexes, background work. Default: 256 MiB. Write
     * buffers, changed keys and filters of intervals get up to five eighths of it, the block cache
     * a quarter. More: fewer reads from disk, fewer and larger flushes. Less: the reverse. Stores
     * with different values share no memory.
     */
    public static final String MEMORY_BYTES = "foldb.memory.bytes";

    /** The default of {@link #MEMORY_BYTES}. */
    public static final long DEFAULT_MEMORY_BYTES = 256L << 20;

    /** The smallest value of {@link #MEMORY_BYTES}. */
    public static final long LEAST_MEMORY_BYTES = 16L << 20;

    /**
     * The prefix of the keys that register a merge operator for an aggregation: the name of its
     * store follows. Values: {@code sum}, {@code min}, {@code max}, {@code append}, {@code set},
     * {@code hyperloglog}. {@link MergingProcessorWrapper} reads them.
     */
    public static final String MERGE_PREFIX = "foldb.merge.";

    /**
     * How many keys of a merge store may have changes that no commit has folded. At this number
     * the store folds, logs and forwards them early. Default: 100 000. More: fewer reads and
     * changelog records for each event. Less: less memory.
     */
    public static final String MAX_DIRTY_KEYS = "foldb.dirty.keys.max";

    /**
     * The memory that the keys of a merge store with such changes may take, in bytes. At this size
     * the store folds them early. Default: 32 MiB.
     */
    public static final String MAX_DIRTY_BYTES = "foldb.dirty.bytes.max";

    /**
     * The memory that the keys with such changes may take in all merge stores of the process, in
     * bytes. From half of it on, the stores with the most of it fold early. Default: a quarter of
     * {@link #MEMORY_BYTES}, which it is a part of; at most three eighths, which leaves nothing for
     * filters of intervals. Give all applications of a process the same value.
     */
    public static final String MAX_TOTAL_DIRTY_BYTES = "foldb.dirty.total.bytes.max";

    /**
     * Verifies merges: with the value N, the aggregator itself runs beside the merges for one key
     * of N. A commit that finds another value than the merges fold to fails with an exception.
     * Default: no key. A store of the name {@code verify} cannot merge.
     */
    public static final String VERIFIED_KEYS = "foldb.merge.verify";

    /**
     * The class of another processor wrapper, which {@link MergingProcessorWrapper} runs
     * too: Streams takes one wrapper only. It gets the configuration, and wraps each processor
     * after foldb. Default: none.
     */
    public static final String WRAPPER_DELEGATE = "foldb.processor.wrapper.delegate";

    private FoldbConfig() {
    }

    /**
     * Reads {@link #MEMORY_BYTES}.
     *
     * @throws ConfigException if the value is not a number, or too small
     */
    static long memoryBytes(final Map<String, ?> configs) {
        final Object given = configs.get(MEMORY_BYTES);
        if (given == null) {
            return DEFAULT_MEMORY_BYTES;
        }
        try {
            final long bytes = Long.parseLong(given.toString().trim());
            if (bytes >= LEAST_MEMORY_BYTES) {
                return bytes;
            }
        } catch (final NumberFormatException error) {
            // The exception below names the value.
        }
        throw new ConfigException(MEMORY_BYTES, given,
            "Expected a number of bytes, at least " + LEAST_MEMORY_BYTES);
    }
}
