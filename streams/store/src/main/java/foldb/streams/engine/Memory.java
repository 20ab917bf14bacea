package foldb.streams.engine;

/**
 * The memory of all databases of the process that share one budget, in bytes.
 *
 * @param total all of the following
 * @param memtables write buffers: those that take writes, wait for their flush, or are read
 * @param blockCache cached blocks
 * @param tables indexes and filters of open tables
 * @param background flushes and compactions in progress
 * @param logs windows through which logs are written
 * @param reserved what {@link Database#reserve} counts
 */
public record Memory(long total, long memtables, long blockCache, long tables, long background,
                     long logs, long reserved) {
    /**
     * Returns the memory at this moment.
     *
     * @param memoryBytes the budget, as in {@link Options#memoryBytes}
     * @return the memory; all 0 if no open database has this budget
     */
    public static Memory of(final long memoryBytes) {
        NativeLibrary.load();
        final long[] all = Native.memory(memoryBytes);
        return new Memory(all[0], all[1], all[2], all[3], all[4], all[5], all[6]);
    }
}
