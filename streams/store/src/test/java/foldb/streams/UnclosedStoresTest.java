package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Stores and iterators that nobody closes and nobody can use. */
class UnclosedStoresTest {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    @TempDir
    Path directory;

    private void leave(final int number) {
        final KeyValueStore<Bytes, byte[]> store = new TestStores(
            directory.resolve("" + number).toFile(), StreamsConfig.AT_LEAST_ONCE)
            .open(FoldbStores.keyValueStore("store").get());
        for (int i = 0; i < 300; i++) {
            store.put(Bytes.wrap(("key" + i).getBytes()), new byte[100]);
        }
        // Its end lies beyond the first page, so it has a native cursor.
        store.all().next();
    }

    private long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(DESCRIPTORS)) {
            return open.filter(this::isOfAStore).count();
        }
    }

    private boolean isOfAStore(final Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).startsWith(directory.toRealPath());
        } catch (final IOException error) {
            // Closed meanwhile.
            return false;
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void keepNoDescriptors() throws Exception {
        for (int i = 0; i < 10; i++) {
            leave(i);
        }
        assertTrue(descriptors() > 0);
        for (int i = 0; i < 100 && descriptors() > 0; i++) {
            System.gc();
            Thread.sleep(100);
        }
        assertEquals(0, descriptors());
    }
}
