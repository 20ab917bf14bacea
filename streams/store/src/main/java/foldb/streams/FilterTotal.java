package foldb.streams;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * The memory that the filters of all stores with one budget take together.
 *
 * <p>A filter asks before it grows. Beyond the bound it may not, and then knows no keys: its store
 * reads what the filter would have spared it. So the bound costs time and no memory.
 */
final class FilterTotal {
    /** The totals of the process, by the size of the budget. */
    private static final Map<Long, FilterTotal> ALL = new ConcurrentHashMap<>();

    private final AtomicLong bytes = new AtomicLong();

    /** Returns the total of the stores whose budget has a number of bytes. */
    static FilterTotal of(final long budget) {
        return ALL.computeIfAbsent(budget, first -> new FilterTotal());
    }

    /** Returns the memory of all filters, in bytes. */
    long bytes() {
        return bytes.get();
    }

    /**
     * Returns the part of a store that has no filters yet.
     *
     * @param bound how many bytes all filters may take as far as this store asks
     * @param reserve counts the part's bytes in the memory budget of the store
     */
    Part join(final long bound, final LongConsumer reserve) {
        return new Part(bound, reserve);
    }

    /** The part of one store. Only the store's thread calls it. */
    final class Part {
        private final long bound;
        private final LongConsumer reserve;
        private long own;

        private Part(final long bound, final LongConsumer reserve) {
            this.bound = bound;
            this.reserve = reserve;
        }

        /**
         * Asks for memory.
         *
         * @return whether the filter may grow by these bytes
         */
        boolean take(final long more) {
            if (bytes.addAndGet(more) > bound) {
                bytes.addAndGet(-more);
                return false;
            }
            own += more;
            reserve.accept(own);
            return true;
        }

        /** Gives memory back, in bytes. */
        void give(final long fewer) {
            bytes.addAndGet(-fewer);
            own -= fewer;
            reserve.accept(own);
        }
    }
}
