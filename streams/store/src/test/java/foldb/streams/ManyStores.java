package foldb.streams;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** A process that opens many stores, and prints its memory and the time. */
final class ManyStores {
    private static final int RECORDS = 10;

    private static boolean isStock;

    private ManyStores() {
    }

    /** Runs with a directory, the number of stores, and {@code stock} or {@code foldb}. */
    public static void main(final String[] arguments) throws Exception {
        final int count = Integer.parseInt(arguments[1]);
        final Path directory = Path.of(arguments[0]);
        isStock = arguments[2].equals("stock");
        final TestStores context =
            new TestStores(directory.toFile(), StreamsConfig.AT_LEAST_ONCE);
        // A first store loads the classes and the library.
        open(context, "first").close();
        System.gc();
        final long bare = residentKib();
        for (final String round : List.of("new", "reopened")) {
            final List<KeyValueStore<Bytes, byte[]>> stores = new ArrayList<>();
            final long start = System.nanoTime();
            for (int i = 0; i < count; i++) {
                stores.add(open(context, "store" + i));
            }
            final long opened = System.nanoTime();
            for (int i = 0; i < count; i++) {
                for (int record = 0; record < RECORDS; record++) {
                    stores.get(i).put(Bytes.wrap(new byte[] {(byte) record}), new byte[100]);
                }
                stores.get(i).commit(Map.of(new TopicPartition("log", i), 10L));
            }
            final long written = System.nanoTime();
            Thread.sleep(3000);
            System.gc();
            Thread.sleep(1000);
            final long idle = residentKib();
            final long closing = System.nanoTime();
            stores.forEach(KeyValueStore::close);
            final long closed = System.nanoTime();
            System.out.printf("%s open_ms %d write_ms %d idle_kib %d close_ms %d threads %d%n",
                round, (opened - start) / 1_000_000, (written - opened) / 1_000_000, idle - bare,
                (closed - closing) / 1_000_000, threads());
        }
    }

    private static KeyValueStore<Bytes, byte[]> open(final TestStores context,
                                                     final String name) {
        return context.open((isStock ? Stores.persistentKeyValueStore(name)
            : FoldbStores.keyValueStore(name)).get());
    }

    private static long residentKib() throws IOException {
        return status("VmRSS:");
    }

    private static long threads() throws IOException {
        return status("Threads:");
    }

    private static long status(final String name) throws IOException {
        for (final String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(name)) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException("/proc/self/status has no " + name);
    }
}
