package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kills a process that writes, and checks what its store then holds. */
@NeedsOffsetsInStores
class CrashTest {
    private static final TopicPartition PARTITION = new TopicPartition("log", 0);
    private static final int COMMIT_EVERY = 50;

    @TempDir
    Path directory;

    private static byte[] bytes(final long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    /** The process that is killed. It prints each number that it has written or committed. */
    static final class Writer {
        private Writer() {
        }

        public static void main(final String[] arguments) {
            final KeyValueStore<Bytes, byte[]> store =
                new TestStores(Path.of(arguments[0]).toFile(), arguments[1])
                    .open(FoldbStores.keyValueStore("store").get());
            final boolean commits = Boolean.parseBoolean(arguments[2]);
            for (long i = 0; ; i++) {
                if (i % COMMIT_EVERY == 0 && (commits || i == 0)) {
                    store.commit(Map.of(PARTITION, i));
                    System.out.println("committed " + i);
                    if (!commits && arguments[1].equals(StreamsConfig.EXACTLY_ONCE_V2)
                        && arguments.length > 3) {
                        pause();
                    }
                }
                store.put(Bytes.wrap(bytes(i)), bytes(i));
                System.out.println("written " + i);
            }
        }

        private static void pause() {
            try {
                Thread.sleep(60_000);
            } catch (final InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** What the killed process printed last. */
    private record Printed(long written, long committed) {
    }

    private Printed kill(final String guarantee, final String after, final String... more)
        throws IOException, InterruptedException {
        final ProcessBuilder builder = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m", "-cp",
            System.getProperty("java.class.path"), Writer.class.getName(),
            directory.toString(), guarantee);
        builder.command().addAll(java.util.List.of(more));
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        final Process process = builder.start();
        long written = -1;
        long committed = -1;
        boolean isKilled = false;
        try (BufferedReader output =
            new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            String line = output.readLine();
            while (line != null && line.matches("(written|committed) \\d+")) {
                final long number = Long.parseLong(line.substring(line.indexOf(' ') + 1));
                written = line.startsWith("written") ? number : written;
                committed = line.startsWith("committed") ? number : committed;
                if (!isKilled && line.equals(after)) {
                    // Unlike the process, its handle leaves the pipe open, so the rest is read.
                    process.toHandle().destroyForcibly();
                    isKilled = true;
                }
                line = output.readLine();
            }
        } finally {
            process.destroyForcibly();
        }
        assertTrue(process.waitFor(30, TimeUnit.SECONDS));
        assertTrue(isKilled, "the process ended before '" + after + "'");
        return new Printed(written, committed);
    }

    /** Checks that the store has the numbers from 0 on without a gap, and returns how many. */
    private static long entries(final KeyValueStore<Bytes, byte[]> store) {
        long count = 0;
        try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
            while (all.hasNext()) {
                assertArrayEquals(bytes(count), all.next().value);
                count += 1;
            }
        }
        return count;
    }

    private KeyValueStore<Bytes, byte[]> reopen(final String guarantee) {
        return new TestStores(directory.toFile(), guarantee)
            .open(FoldbStores.keyValueStore("store").get());
    }

    @Test
    void atLeastOnceKeepsAllWritesAndTheLastCommit() throws Exception {
        final Printed printed = kill(StreamsConfig.AT_LEAST_ONCE, "written 4321", "true");
        final KeyValueStore<Bytes, byte[]> store = reopen(StreamsConfig.AT_LEAST_ONCE);
        final long entries = entries(store);
        final Long offset = store.committedOffset(PARTITION);
        store.close();
        assertTrue(entries > printed.written(), entries + " entries, " + printed);
        assertNotNull(offset);
        assertTrue(offset >= printed.committed(), offset + " is the offset, " + printed);
        // Data is never older than its offset, and newer by the writes since one commit at most.
        assertTrue(entries >= offset && entries <= offset + COMMIT_EVERY,
            entries + " entries, offset " + offset);
    }

    @Test
    void exactlyOnceForgetsTheOffsetWithTheFirstWriteAfterACommit() throws Exception {
        final Printed printed =
            kill(StreamsConfig.EXACTLY_ONCE_V2, "written 4321", "false");
        assertEquals(0, printed.committed());
        final KeyValueStore<Bytes, byte[]> store = reopen(StreamsConfig.EXACTLY_ONCE_V2);
        assertNull(store.committedOffset(PARTITION));
        assertTrue(entries(store) > printed.written());
        store.close();
    }

    @Test
    void exactlyOnceKeepsAnOffsetWithoutNewerData() throws Exception {
        kill(StreamsConfig.EXACTLY_ONCE_V2, "committed 0", "false", "pause");
        final KeyValueStore<Bytes, byte[]> store = reopen(StreamsConfig.EXACTLY_ONCE_V2);
        assertEquals(0L, store.committedOffset(PARTITION));
        assertEquals(0, entries(store));
        store.close();
    }

    @Test
    void exactlyOnceNeverHasAnOffsetBesideNewerData() throws Exception {
        kill(StreamsConfig.EXACTLY_ONCE_V2, "written 3333", "true");
        final KeyValueStore<Bytes, byte[]> store = reopen(StreamsConfig.EXACTLY_ONCE_V2);
        final Long offset = store.committedOffset(PARTITION);
        if (offset != null) {
            assertEquals(offset, entries(store));
        }
        store.close();
    }
}
