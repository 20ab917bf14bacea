package foldb.streams;

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigException;

/**
 * The configuration of merges.
 *
 * @param maxDirtyKeys the number of keys with unfolded changes at which a store folds them all
 * @param maxDirtyBytes the memory of such keys, in bytes, at which a store folds them all
 * @param maxTotalBytes the memory that such keys of all stores may take, in bytes
 * @param maxFilterBytes the memory that filters of intervals of all stores may take, in bytes
 */
record MergeConfig(int maxDirtyKeys, long maxDirtyBytes, long maxTotalBytes,
                   long maxFilterBytes) {
    private static final int DEFAULT_MAX_DIRTY_KEYS = 100_000;
    private static final long DEFAULT_MAX_DIRTY_BYTES = 32L << 20;
    /**
     * Changed keys and filters take from the memory of write buffers, which keep a quarter of
     * theirs.
     */
    private static final long MOST_EIGHTHS_OF_MEMORY = 3;

    /**
     * Reads the bounds.
     *
     * @throws ConfigException if a bound is not a positive number, or beyond the memory
     */
    static MergeConfig of(Map<String, ?> configs) {
        long keys = positive(configs, FoldbConfig.MAX_DIRTY_KEYS, DEFAULT_MAX_DIRTY_KEYS);
        long bytes = positive(configs, FoldbConfig.MAX_DIRTY_BYTES, DEFAULT_MAX_DIRTY_BYTES);
        long memory = FoldbConfig.memoryBytes(configs);
        long total = positive(configs, FoldbConfig.MAX_TOTAL_DIRTY_BYTES, memory / 4);
        long most = memory / 8 * MOST_EIGHTHS_OF_MEMORY;
        if (total > most) {
            throw new ConfigException(FoldbConfig.MAX_TOTAL_DIRTY_BYTES, total,
                "Expected at most three eighths of " + FoldbConfig.MEMORY_BYTES + ", " + most);
        }
        long filters = Math.min(memory / 8, most - total);
        return new MergeConfig((int) Math.min(keys, Integer.MAX_VALUE), bytes, total, filters);
    }

    /**
     * Reads the registered operators, by store.
     *
     * @throws ConfigException if an operator is unknown
     */
    static Map<String, MergeOperator> operators(Map<String, ?> configs) {
        Map<String, MergeOperator> operators = new TreeMap<>();
        configs.forEach((key, name) -> {
            if (key.startsWith(FoldbConfig.MERGE_PREFIX)
                    && !key.equals(FoldbConfig.VERIFIED_KEYS)) {
                String store = key.substring(FoldbConfig.MERGE_PREFIX.length());
                operators.put(store, MergeOperator.named(key, name));
            }
        });
        return operators;
    }

    /**
     * Reads of how many keys one is verified; 0 if none is.
     *
     * @throws ConfigException if the value is not a positive number
     */
    static long verifiedKeys(Map<String, ?> configs) {
        return positive(configs, FoldbConfig.VERIFIED_KEYS, 0);
    }

    private static long positive(Map<String, ?> configs, String key, long otherwise) {
        Object given = configs.get(key);
        if (given == null) {
            return otherwise;
        }
        try {
            long number = Long.parseLong(given.toString().trim());
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // The exception below names the value.
        }
        throw new ConfigException(key, given, "Expected a positive number");
    }
}
