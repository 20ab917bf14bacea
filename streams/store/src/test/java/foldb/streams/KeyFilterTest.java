package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.apache.kafka.common.utils.Bytes;
import org.junit.jupiter.api.Test;

/** A filter never denies a key that it has, and denies most others. */
class KeyFilterTest {
    private static Bytes key(final int number) {
        return Bytes.wrap(ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
    }

    @Test
    void aFilterHasEachKeyAndDeniesMostOthers() {
        final KeyFilter filter = KeyFilter.empty();
        assertFalse(filter.mayHave(key(1)));
        // A little more than four layers.
        final int keys = 90_000;
        for (int number = 0; number < keys; number++) {
            filter.add(key(number));
            filter.add(key(number / 2));
        }
        int denied = 0;
        for (int number = 0; number < keys; number++) {
            assertTrue(filter.mayHave(key(number)), "key " + number);
            denied += filter.mayHave(key(keys + number)) ? 0 : 1;
        }
        assertTrue(denied > keys * 0.99, denied + " of " + keys + " other keys denied");
    }

    @Test
    void aFullFilterMayHaveEveryKey() {
        final KeyFilter filter = KeyFilter.empty();
        int keys = 0;
        while (!filter.mayHave(key(-1))) {
            assertTrue(keys <= 1.1 * KeyFilter.MOST_KEYS, keys + " keys");
            filter.add(key(keys++));
        }
        // Keys that the filter has already do not count, and some seem to be there.
        assertTrue(keys > KeyFilter.MOST_KEYS / 2, keys + " keys");
        filter.add(key(keys));
        assertTrue(KeyFilter.EVERY_KEY.mayHave(key(0)));
    }

    @Test
    void anotherThreadFindsEachKeyThatWasAddedBefore() throws InterruptedException {
        final KeyFilter filter = KeyFilter.empty();
        final int[] added = {0};
        final Thread writer = new Thread(() -> {
            for (int number = 0; number < 200_000; number++) {
                filter.add(key(number));
                synchronized (added) {
                    added[0] = number + 1;
                }
            }
        });
        writer.start();
        int asked = 0;
        while (writer.isAlive() || asked < 200_000) {
            final int until;
            synchronized (added) {
                until = added[0];
            }
            for (; asked < until; asked++) {
                assertTrue(filter.mayHave(key(asked)), "key " + asked);
            }
        }
        writer.join();
    }
}
