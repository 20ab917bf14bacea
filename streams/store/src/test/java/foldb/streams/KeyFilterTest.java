package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Utils;
import org.junit.jupiter.api.Test;

/** A filter never denies a key that it has, and denies most others. */
class KeyFilterTest {
    private static Bytes key(final int number) {
        return Bytes.wrap(("customer-" + number).getBytes(StandardCharsets.UTF_8));
    }

    private static FilterTotal.Part unbounded() {
        return new FilterTotal().join(Long.MAX_VALUE, bytes -> { });
    }

    @Test
    void filtersOfOneTotalKeepItsBoundAndGiveTheirMemoryBack() {
        final FilterTotal total = new FilterTotal();
        final AtomicLong reserved = new AtomicLong();
        final long bound = 100_000;
        final FilterTotal.Part memory = total.join(bound, reserved::set);
        final FilterTotal.Part other = total.join(bound, bytes -> { });
        assertTrue(KeyFilter.empty(other).add(key(0)));
        final long others = total.bytes();
        assertTrue(others > 0);
        final KeyFilter filter = KeyFilter.empty(memory);
        int keys = 0;
        for (; !filter.mayHave(key(-1)) || !filter.mayHave(key(-2)); keys++) {
            assertTrue(total.bytes() <= bound, total.bytes() + " bytes");
            assertEquals(total.bytes() - others, reserved.get());
            filter.add(key(keys));
        }
        assertTrue(keys > 10_000 && keys < KeyFilter.MOST_KEYS, keys + " keys");
        assertEquals(others, total.bytes());
        assertEquals(0, reserved.get());
        // An ended filter gives nothing back again.
        filter.end();
        assertEquals(others, total.bytes());
    }

    @Test
    void aFilterWithoutMemoryMayHaveEveryKey() {
        final KeyFilter filter = KeyFilter.empty(new FilterTotal().join(0, bytes -> { }));
        filter.add(key(1));
        assertTrue(filter.mayHave(key(2)));
    }

    @Test
    void aFilterHasEachKeyAndDeniesMostOthers() {
        final KeyFilter filter = KeyFilter.empty(unbounded());
        assertFalse(filter.mayHave(key(1)));
        // A little more than four layers.
        final int keys = 90_000;
        int isNew = 0;
        for (int number = 0; number < keys; number++) {
            isNew += filter.add(key(number)) ? 1 : 0;
            assertFalse(filter.add(key(number / 2)), "key " + number / 2 + " is there");
        }
        assertTrue(isNew > keys * 0.99, isNew + " of " + keys + " keys were certainly new");
        int denied = 0;
        for (int number = 0; number < keys; number++) {
            assertTrue(filter.mayHave(key(number)), "key " + number);
            denied += filter.mayHave(key(keys + number)) ? 0 : 1;
        }
        assertTrue(denied > keys * 0.99, denied + " of " + keys + " other keys denied");
    }

    // Such keys are in one partition, whatever the number of partitions.
    @Test
    void keysWithTheHashOfTheProducersPartitionerDiffer() {
        final Map<Integer, Bytes> first = new HashMap<>();
        int pairs = 0;
        int denied = 0;
        final Random random = new Random(1);
        for (int number = 0; number < 400_000; number++) {
            final byte[] bytes = new byte[12];
            random.nextBytes(bytes);
            final Bytes key = Bytes.wrap(bytes);
            final Bytes same = first.putIfAbsent(Utils.murmur2(key.get()), key);
            if (same != null) {
                final KeyFilter filter = KeyFilter.empty(unbounded());
                filter.add(same);
                pairs++;
                denied += filter.mayHave(key) ? 0 : 1;
            }
        }
        assertTrue(pairs > 0);
        assertEquals(pairs, denied);
    }

    @Test
    void aFullFilterMayHaveEveryKey() {
        final KeyFilter filter = KeyFilter.empty(unbounded());
        int keys = 0;
        while (!IntStream.range(1, 20).allMatch(other -> filter.mayHave(key(-other)))) {
            assertTrue(keys <= 1.1 * KeyFilter.MOST_KEYS, keys + " keys");
            filter.add(key(keys++));
        }
        assertTrue(keys > KeyFilter.MOST_KEYS, keys + " keys");
        filter.add(key(keys));
        assertTrue(KeyFilter.EVERY_KEY.mayHave(key(0)));
    }

    @Test
    void anotherThreadFindsEachKeyThatItHearsOf() {
        final int keys = 200_000;
        final KeyFilter filter = KeyFilter.empty(unbounded());
        final AtomicInteger added = new AtomicInteger();
        final CompletableFuture<Void> writer = CompletableFuture.runAsync(() -> {
            for (int number = 0; number < keys; number++) {
                filter.add(key(number));
                added.setRelease(number + 1);
            }
        });
        int asked = 0;
        while (asked < keys) {
            if (writer.isCompletedExceptionally()) {
                writer.join();
            }
            final int until = added.getAcquire();
            for (; asked < until; asked++) {
                assertTrue(filter.mayHave(key(asked)), "key " + asked);
            }
        }
    }
}
