package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A context whose metrics are not those of Streams, as in tests with mocks. */
class OtherMetricsTest {
    @TempDir
    Path directory;

    private void openAndClose(final StreamsMetrics metrics) {
        final KeyValueStore<Bytes, byte[]> store = FoldbStores.keyValueStore("store").get();
        final TestStores stores =
            new TestStores(directory.toFile(), StreamsConfig.AT_LEAST_ONCE);
        stores.replaceMetrics(metrics);
        stores.open(store);
        store.put(Bytes.wrap(new byte[] {1}), new byte[] {2});
        store.close();
        assertFalse(store.isOpen());
    }

    @Test
    void closesAStoreBesideAMock() {
        openAndClose((StreamsMetrics) Proxy.newProxyInstance(getClass().getClassLoader(),
            new Class<?>[] {StreamsMetrics.class}, (proxy, method, arguments) -> null));
    }

    @Test
    void closesAStoreWithoutMetrics() {
        openAndClose(null);
    }
}
