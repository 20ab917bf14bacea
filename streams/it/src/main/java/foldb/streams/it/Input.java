package foldb.streams.it;

/**
 * A sequence of records that is the same in every run: of texts with numbers.
 *
 * @param keys how many keys there are
 * @param firstTimestamp the timestamp of record 0, in milliseconds
 * @param step milliseconds between the timestamps of two records
 * @param late whether every tenth record is up to 40 s older than those before it
 */
record Input(int keys, long firstTimestamp, long step, boolean late) {
    private static final int LATE_MILLIS = 40_000;

    String key(long number) {
        return key((int) Long.remainderUnsigned(mix(number), keys));
    }

    static String key(int key) {
        return String.format("key-%07d", key);
    }

    long value(long number) {
        return 1 + Long.remainderUnsigned(mix(~number), 7);
    }

    long timestamp(long number) {
        long regular = firstTimestamp + number * step;
        if (late && number % 10 == 9) {
            return regular - Long.remainderUnsigned(mix(number ^ 0x5555), LATE_MILLIS);
        }
        return regular;
    }

    /** The finaliser of SplitMix64: spreads consecutive numbers over all 64 bits. */
    private static long mix(long number) {
        long z = number + 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
