package foldb.streams.it;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.WriteBufferManager;

/**
 * Gives all RocksDB stores of a process one memory budget, in the way that the documentation of
 * Kafka Streams shows. Blocks, indexes, filters and write buffers share it, as in foldb.
 */
public final class EqualCaches implements RocksDBConfigSetter {
    /** The configuration key of the budget, in bytes. */
    static final String BYTES = "it.cache.bytes";

    private static Cache cache;
    private static WriteBufferManager buffers;

    private static synchronized void open(long bytes) {
        if (cache == null) {
            cache = new LRUCache(bytes);
            buffers = new WriteBufferManager(bytes / 2, cache);
        }
    }

    /** Makes a store use the shared cache. */
    @Override
    public void setConfig(String store, Options options, Map<String, Object> configs) {
        open(Long.parseLong(String.valueOf(configs.get(BYTES))));
        BlockBasedTableConfig tables = (BlockBasedTableConfig) options.tableFormatConfig();
        tables.setBlockCache(cache);
        tables.setCacheIndexAndFilterBlocks(true);
        tables.setCacheIndexAndFilterBlocksWithHighPriority(true);
        tables.setPinTopLevelIndexAndFilter(true);
        options.setWriteBufferManager(buffers);
        options.setTableFormatConfig(tables);
    }

    /** Closes nothing: the cache belongs to the process. */
    @Override
    public void close(String store, Options options) {
    }
}
