package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An iterator that meets an {@code OutOfMemoryError} skips nothing when it is asked again. */
class LittleMemoryTest {
    private static final int ENTRIES = 5_000;

    @TempDir
    Path directory;

    /** Walks a store, and takes all memory of the JVM from time to time. */
    static final class Walker {
        private Walker() {
        }

        public static void main(final String[] arguments) {
            final Properties little = new Properties();
            little.put(FoldbConfig.MEMORY_BYTES, 16 << 20);
            final Path directory = Path.of(arguments[0]);
            try (KeyValueIterator<?, byte[]> entries = arguments[1].equals("keys")
                    ? keys(new TestStores(
                        directory.toFile(), StreamsConfig.AT_LEAST_ONCE, little))
                    : windows(new TaskContext(directory))) {
                System.out.println(walk(entries));
            }
        }

        private static KeyValueIterator<?, byte[]> keys(final TestStores stores) {
            final KeyValueStore<Bytes, byte[]> store =
                stores.open(FoldbStores.keyValueStore("store").get());
            for (int i = 0; i < ENTRIES; i++) {
                store.put(key(i), value(i));
            }
            return store.all();
        }

        private static KeyValueIterator<?, byte[]> windows(final TaskContext stores) {
            final WindowStore<Bytes, byte[]> store = stores.open(FoldbStores.windowStore(
                "store", Duration.ofHours(1), Duration.ofSeconds(1), false).get());
            for (int i = 0; i < ENTRIES; i++) {
                stores.process("input", 0, i);
                store.put(key(i), value(i), 1000);
            }
            return store.all();
        }

        private static Bytes key(final int number) {
            return Bytes.wrap(ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
        }

        private static byte[] value(final int number) {
            return ByteBuffer.allocate(900).putInt(number).array();
        }

        /** Returns the number of entries in a row and of errors, as far as the test needs. */
        private static String walk(final KeyValueIterator<?, byte[]> entries) {
            int expected = 0;
            int errors = 0;
            List<byte[]> ballast = new ArrayList<>();
            while (true) {
                try {
                    if (!entries.hasNext()) {
                        return expected + " entries, errors: " + (errors > 0);
                    }
                    final int found = ByteBuffer.wrap(entries.next().value).getInt();
                    if (found != expected) {
                        return "after " + expected + " comes " + found;
                    }
                    expected++;
                    if (expected == 1_000 || expected == 3_000) {
                        fill(ballast, 100_000);
                        fill(ballast, 2_000);
                    }
                } catch (final OutOfMemoryError error) {
                    errors++;
                    ballast = new ArrayList<>();
                }
            }
        }

        private static void fill(final List<byte[]> ballast, final int bytes) {
            try {
                while (true) {
                    ballast.add(new byte[bytes]);
                }
            } catch (final OutOfMemoryError error) {
                // This is its purpose.
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"keys", "windows"})
    void anIteratorSkipsNothing(final String kind) throws Exception {
        final String printed = ChildJvm.run(
            List.of("-Xmx24m", "-XX:+UseSerialGC"), Walker.class, directory.toString(), kind);
        final String last = printed.lines().reduce("", (before, line) -> line);
        assertEquals(ENTRIES + " entries, errors: true", last, printed);
    }
}
