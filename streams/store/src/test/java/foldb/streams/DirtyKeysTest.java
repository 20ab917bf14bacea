package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.junit.jupiter.api.Test;

class DirtyKeysTest {
    private static Bytes key(int number) {
        return Bytes.wrap(new byte[] {(byte) number});
    }

    private static ProcessorRecordContext context(long offset) {
        return new ProcessorRecordContext(
            1, offset, 0, "input", new RecordHeaders(), new byte[100], new byte[1000]);
    }

    @Test
    void theMemoryOfAKeyThatChangesOftenStaysTheSame() {
        DirtyKeys keys = new DirtyKeys(DirtyKeys.Order.BY_KEY);
        keys.add(key(1), context(0));
        long once = keys.bytes();
        assertTrue(once > 1100, "a context holds the raw record");
        for (int i = 1; i < 1000; i++) {
            ProcessorRecordContext context = context(i);
            keys.add(key(1), context);
            // Streams does so when it sends a record that the same input led to.
            context.freeRawRecord();
        }
        assertEquals(once, keys.bytes());
        keys.remove(key(1));
        assertEquals(0, keys.bytes());
    }

    @Test
    void keysAreSortedAndKeepTheNewestContext() {
        DirtyKeys keys = new DirtyKeys(DirtyKeys.Order.BY_KEY);
        ProcessorRecordContext old = context(1);
        ProcessorRecordContext newest = context(2);
        keys.add(key(200), old);
        keys.add(key(3), old);
        keys.add(key(200), newest);
        keys.keep(new DirtyKeys.Entry(key(200), old));
        keys.keep(new DirtyKeys.Entry(key(7), old));
        assertEquals(List.of(new DirtyKeys.Entry(key(3), old),
            new DirtyKeys.Entry(key(7), old), new DirtyKeys.Entry(key(200), newest)).toString(),
            keys.entries().toString());
    }

    @Test
    void eitherBoundIsReached() {
        DirtyKeys keys = new DirtyKeys(DirtyKeys.Order.BY_KEY);
        keys.add(key(1), context(1));
        assertFalse(keys.reaches(new MergeConfig(2, 1 << 20, 1 << 20, 0), 0));
        assertTrue(keys.reaches(new MergeConfig(2, 1000, 1 << 20, 0), 0));
        assertTrue(keys.reaches(new MergeConfig(2, 1 << 20, 1 << 20, 0), 1 << 20));
        keys.add(key(2), context(1));
        assertTrue(keys.reaches(new MergeConfig(2, 1 << 20, 1 << 20, 0), 0));
    }
}
