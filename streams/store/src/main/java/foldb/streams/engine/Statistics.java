package foldb.streams.engine;

/**
 * Statistics of a database. Numbers of events and of written bytes count since the open. Writes of
 * offsets and positions are no puts and deletes.
 *
 * @param gets keys read one by one or by {@link Database#getAll}
 * @param puts puts accepted
 * @param deletes deletes accepted
 * @param merges merges accepted
 * @param bytesUser bytes of keys and values accepted
 * @param bytesLog bytes written to the log
 * @param bytesFlushed bytes that flushes wrote to tables
 * @param bytesCompacted bytes that compactions wrote to tables
 * @param flushes memtables flushed
 * @param compactions compaction jobs finished
 * @param stallMicros microseconds that writes were stalled
 * @param cacheHits blocks found in the cache
 * @param cacheMisses blocks read from files
 * @param memtableBytes bytes of memtables
 * @param tableBytes bytes of tables
 * @param compactionDebt bytes that compactions must still read
 */
public record Statistics(long gets, long puts, long deletes, long merges, long bytesUser,
                         long bytesLog, long bytesFlushed, long bytesCompacted, long flushes,
                         long compactions, long stallMicros, long cacheHits, long cacheMisses,
                         long memtableBytes, long tableBytes, long compactionDebt) {
    static Statistics of(final long[] all) {
        return new Statistics(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7],
            all[8], all[9], all[10], all[11], all[12], all[13], all[14], all[15]);
    }
}
