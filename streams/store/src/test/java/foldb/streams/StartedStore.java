package foldb.streams;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.KeyValueStore;

/** Opens a store, as the first thing that a new JVM does. `cargo xtask streams start` runs it. */
final class StartedStore {
    private StartedStore() {
    }

    public static void main(final String[] arguments) throws Exception {
        final Path directory = Files.createTempDirectory("foldb-start");
        final KeyValueStore<Bytes, byte[]> store =
            new TestStores(directory.toFile(), StreamsConfig.AT_LEAST_ONCE)
                .open(FoldbStores.keyValueStore("store").get());
        final Bytes key = Bytes.wrap(new byte[] {1});
        store.put(key, new byte[] {2});
        if (!Arrays.equals(store.get(key), new byte[] {2})) {
            throw new IllegalStateException("the store lost a value");
        }
        store.close();
        System.out.println("Java " + Runtime.version() + ", " + System.getProperty("os.name") + " "
            + System.getProperty("os.arch") + ": the store works");
    }
}
