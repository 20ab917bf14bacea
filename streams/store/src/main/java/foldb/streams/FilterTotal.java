package foldb.streams;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * The memory that the filters of all stores of a process take together.
 *
 * <p>A filter asks before it grows. Beyond the bound it may not, and then knows no keys: its store
 * reads what the filter would have spared it. So the bound costs time and no memory.
 */
final class FilterTotal {
    /** The total of the process. */
    static final FilterTotal PROCESS = new FilterTotal();

    private final AtomicLong bytes = new AtomicLong();

    /** Returns the memory of all filters, in bytes. */
    long bytes() {
        return bytes.get();
    }

    /**
     * Returns the part of a store that has no filters yet, and may have none before
     * {@link Part#allow}.
     *
     * @param reserve counts the part's bytes in the memory budget of the store
     */
    Part join(final LongConsumer reserve) {
        return new Part(reserve);
    }

    /** The part of one store. Only the store's thread calls it. */
    final class Part {
        private final LongConsumer reserve;
        private long bound;
        private long own;

        private Part(final LongConsumer reserve) {
            this.reserve = reserve;
        }

        /** Sets how many bytes the filters of the process may take as far as this store asks. */
        void allow(final long most) {
            bound = most;
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
