package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One clear exception for each bad configuration. */
class BadConfigurationTest {
    @TempDir
    Path directory;

    private TestStores stores(final Object memory) {
        final Properties more = new Properties();
        if (memory != null) {
            more.put(FoldbConfig.MEMORY_BYTES, memory);
        }
        return new TestStores(directory.toFile(), StreamsConfig.AT_LEAST_ONCE, more);
    }

    @Test
    void aBadAmountOfMemoryIsRefused() {
        for (final Object bad : List.of("much", "-1", "1000", "")) {
            final ConfigException error = assertThrows(ConfigException.class,
                () -> stores(bad).open(FoldbStores.keyValueStore("store").get()));
            assertTrue(error.getMessage().contains("foldb.memory.bytes")
                && error.getMessage().contains("at least 16777216"), error.getMessage());
        }
        for (final Object good : List.of("16777216", 20_000_000L, " 33554432 ")) {
            stores(good).open(FoldbStores.keyValueStore("store").get()).close();
        }
    }

    @Test
    void anUnknownOperatorIsRefused() {
        final FoldbKeyValueStore store = FoldbKeyValueStore.timestamped("store", "median");
        final ConfigException error =
            assertThrows(ConfigException.class, () -> stores(null).open(store));
        assertTrue(error.getMessage().contains("'median'")
            && error.getMessage().contains("store store"), error.getMessage());
        assertFalse(store.isOpen());
    }

    @Test
    void anotherOperatorThanTheStoredOneIsRefused() {
        stores(null).open(FoldbKeyValueStore.timestamped("store", "sum")).close();
        final ConfigException error = assertThrows(ConfigException.class,
            () -> stores(null).open(FoldbKeyValueStore.timestamped("store", "max")));
        assertTrue(error.getMessage().contains("'sum'") && error.getMessage().contains("'max'"),
            error.getMessage());
        stores(null).open(FoldbKeyValueStore.timestamped("store", "sum")).close();
    }

    @Test
    void aDirectoryInUseIsRefused() {
        final var first = stores(null).open(FoldbStores.keyValueStore("store").get());
        final var second = FoldbStores.keyValueStore("store").get();
        final ProcessorStateException error =
            assertThrows(ProcessorStateException.class, () -> stores(null).open(second));
        assertTrue(error.getMessage().contains(directory.resolve("foldb/store").toString()),
            error.getMessage());
        assertFalse(second.isOpen());
        first.close();
        stores(null).open(second);
        assertTrue(second.isOpen());
        second.close();
    }

    @Test
    @NeedsOffsetsInStores
    void anUpgradeOfStreamsIsRefused() {
        final Properties upgrade = new Properties();
        upgrade.put(StreamsConfig.UPGRADE_FROM_CONFIG, StreamsConfig.UPGRADE_FROM_42);
        final ConfigException error = assertThrows(ConfigException.class,
            () -> new TestStores(directory.toFile(), StreamsConfig.AT_LEAST_ONCE, upgrade)
                .open(FoldbStores.keyValueStore("store").get()));
        assertTrue(error.getMessage().contains("upgrade.from"), error.getMessage());
        stores(null).open(FoldbStores.keyValueStore("store").get()).close();
    }

    @Test
    @NeedsOffsetsInStores
    void aNewStoreDoesNotTakeOverOffsetsOfAnotherEngine() throws Exception {
        Files.writeString(directory.resolve(".checkpoint"), "0\n1\nlog 0 42\n");
        final TopicPartition partition = new TopicPartition("log", 0);
        final var store = stores(null).open(FoldbStores.keyValueStore("store").get());
        store.commit(Map.of(partition, 42L));
        assertNull(store.committedOffset(partition));
        store.commit(Map.of(partition, 7L));
        assertEquals(7L, store.committedOffset(partition));
        store.close();
    }
}
