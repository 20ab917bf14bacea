package foldb.streams;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * The memory that the dirty keys of all merge stores of a process take together.
 *
 * <p>Only a store's own thread may fold it, so a store can give back no other store's memory. From
 * half of the bound on, each store that has its equal part of that half folds at its next merge.
 * The stores below their part can add at most the other half, so the total keeps the bound. An
 * early fold frees at least such a part, so stores do not fold key by key.
 */
final class DirtyTotal {
    /** The total of the process. */
    static final DirtyTotal PROCESS = new DirtyTotal();

    /** How far a store's memory changes before its thread updates the total, in bytes. */
    static final long STEP_BYTES = 16 << 10;

    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong stores = new AtomicLong();

    /** Returns the memory of all stores, in bytes; each may have {@link #STEP_BYTES} more. */
    long bytes() {
        return bytes.get();
    }

    /**
     * Returns the part of a store that has no dirty keys yet.
     *
     * @param reserve counts the part's bytes in the memory budget of the store
     */
    Part join(LongConsumer reserve) {
        stores.incrementAndGet();
        return new Part(reserve);
    }

    /** The part of one store. Only the store's thread calls it. */
    final class Part {
        private final LongConsumer reserve;
        private long counted;
        private boolean left;

        private Part(LongConsumer reserve) {
            this.reserve = reserve;
        }

        /**
         * Takes the store's memory, in bytes.
         *
         * @return whether the store must fold to keep the bound
         */
        boolean reaches(long now, long bound) {
            if (Math.abs(now - counted) < STEP_BYTES) {
                return false;
            }
            count(now);
            return bytes.get() >= bound / 2 && now >= bound / 2 / Math.max(1, stores.get());
        }

        /** Takes the store's memory after a fold, in bytes. */
        void count(long now) {
            bytes.addAndGet(now - counted);
            counted = now;
            reserve.accept(now);
        }

        /** Ends the part; its memory no longer counts. */
        void leave() {
            if (!left) {
                left = true;
                count(0);
                stores.decrementAndGet();
            }
        }
    }
}
