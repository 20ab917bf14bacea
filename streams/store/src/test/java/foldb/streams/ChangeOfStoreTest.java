package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.internals.UpgradeFromValues;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.StateDirectory;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.internals.LegacyCheckpointingStateStore;
import org.apache.kafka.streams.state.internals.OffsetCheckpoint;
import org.apache.kafka.streams.state.internals.SessionKeySchema;
import org.apache.kafka.streams.state.internals.WindowKeySchema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One task's directory passes from engine to engine, at least once. After the restore that each
 * start makes, every store holds every record of its changelog.
 */
@NeedsOffsetsInStores
class ChangeOfStoreTest {
    private static final Duration RETENTION = Duration.ofHours(1);
    private static final int RECORDS = 20;
    private static final TaskId TASK = new TaskId(0, 0);

    @TempDir
    Path root;

    private StateDirectory states;
    private final Map<Kind, List<ConsumerRecord<byte[], byte[]>>> changelogs = new HashMap<>();

    /** What runs on the directory, from its start to its end. */
    enum Run {
        /** Streams 4.2: offsets only in {@code .checkpoint}. */
        STOCK_42,
        /** Streams 4.3: offsets in the stores. */
        STOCK,
        /** Streams 4.3 with {@code upgrade.from}: offsets in both. */
        STOCK_UPGRADED,
        FOLDB,
        /** A start that ends after the stores' {@code init}. */
        FOLDB_ENDED_EARLY;

        boolean isFoldb() {
            return this == FOLDB || this == FOLDB_ENDED_EARLY;
        }
    }

    enum Kind {
        KEY_VALUE, WINDOW, SESSION;

        TopicPartition partition() {
            return new TopicPartition("app-" + this + "-changelog", 0);
        }

        StateStore store(final boolean isFoldb) {
            final Duration size = Duration.ofSeconds(1);
            return switch (this) {
                case KEY_VALUE -> isFoldb
                    ? FoldbStores.timestampedKeyValueStore(name()).get()
                    : Stores.persistentTimestampedKeyValueStore(name()).get();
                case WINDOW -> isFoldb
                    ? FoldbStores.timestampedWindowStore(name(), RETENTION, size, false).get()
                    : Stores.persistentTimestampedWindowStore(name(), RETENTION, size, false)
                        .get();
                case SESSION -> isFoldb
                    ? FoldbStores.sessionStore(name(), RETENTION).get()
                    : Stores.persistentSessionStore(name(), RETENTION).get();
            };
        }

        StateStore storeWithHeaders() {
            return switch (this) {
                case KEY_VALUE -> Stores.persistentTimestampedKeyValueStoreWithHeaders(name())
                    .get();
                case WINDOW -> Stores.persistentTimestampedWindowStoreWithHeaders(
                    name(), RETENTION, Duration.ofSeconds(1), false).get();
                case SESSION -> Stores.persistentSessionStoreWithHeaders(name(), RETENTION).get();
            };
        }

        byte[] changelogKey(final Bytes key, final long time) {
            return switch (this) {
                case KEY_VALUE -> key.get();
                case WINDOW -> WindowKeySchema.toStoreKeyBinary(key, time, 0).get();
                case SESSION -> SessionKeySchema.toBinary(session(key, time)).get();
            };
        }

        @SuppressWarnings("unchecked")
        void put(final StateStore store, final Bytes key, final long time, final byte[] value) {
            switch (this) {
                case KEY_VALUE -> ((KeyValueStore<Bytes, byte[]>) store).put(key, value);
                case WINDOW -> ((WindowStore<Bytes, byte[]>) store).put(key, value, time);
                case SESSION -> ((SessionStore<Bytes, byte[]>) store)
                    .put(session(key, time), value);
            }
        }

        @SuppressWarnings("unchecked")
        Set<String> keys(final StateStore store) {
            final KeyValueIterator<?, byte[]> entries = switch (this) {
                case KEY_VALUE -> ((KeyValueStore<Bytes, byte[]>) store).all();
                case WINDOW -> ((WindowStore<Bytes, byte[]>) store).all();
                case SESSION -> ((SessionStore<Bytes, byte[]>) store)
                    .fetch(null, (Bytes) null);
            };
            final Set<String> keys = new TreeSet<>();
            try (entries) {
                entries.forEachRemaining(entry -> keys.add(
                    (entry.key instanceof Windowed<?> windowed ? windowed.key() : entry.key)
                        .toString()));
            }
            return keys;
        }

        private static Windowed<Bytes> session(final Bytes key, final long time) {
            return new Windowed<>(key, new SessionWindow(time, time + 1));
        }
    }

    static Stream<List<Run>> orders() {
        final List<List<Run>> orders = new ArrayList<>();
        for (final Run first : Run.values()) {
            for (final Run second : Run.values()) {
                orders.add(List.of(first, second, Run.FOLDB));
            }
            orders.add(List.of(first, Run.FOLDB, Run.STOCK, Run.FOLDB));
            orders.add(List.of(first, Run.FOLDB, Run.STOCK_UPGRADED, Run.FOLDB_ENDED_EARLY,
                Run.FOLDB, Run.STOCK_42));
        }
        return orders.stream();
    }

    @ParameterizedTest
    @MethodSource("orders")
    void noOrderOfStoresLosesARecord(final List<Run> order) throws IOException {
        begin();
        for (final Run run : order) {
            run(run);
        }
    }

    @Test
    void aStoreWithHeadersBeginsBesideFoldbAndFoldbGoesOn() throws IOException {
        begin();
        run(Run.STOCK_42);
        run(Run.FOLDB);
        for (final Kind kind : Kind.values()) {
            final StateStore store = wrapped(kind, kind.storeWithHeaders());
            new TaskContext(directory().toPath()).open(store);
            assertNull(store.committedOffset(kind.partition()));
            store.close();
        }
        run(Run.FOLDB);
    }

    private void begin() {
        final Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, root.toString());
        states = new StateDirectory(new StreamsConfig(settings), Time.SYSTEM, true, false);
        for (final Kind kind : Kind.values()) {
            changelogs.put(kind, new ArrayList<>());
        }
    }

    private File directory() {
        return states.getOrCreateDirectoryForTask(TASK);
    }

    private StateStore wrapped(final Kind kind, final StateStore store) {
        return LegacyCheckpointingStateStore.maybeWrapStore(
            store, false, Set.of(kind.partition()), states, TASK, "");
    }

    private void run(final Run run) throws IOException {
        final Map<TopicPartition, StateStore> stores = new HashMap<>();
        final Map<Kind, TaskContext> tasks = new HashMap<>();
        for (final Kind kind : Kind.values()) {
            final TaskContext task = new TaskContext(directory().toPath());
            tasks.put(kind, task);
            final StateStore store = kind.store(run.isFoldb());
            stores.put(kind.partition(),
                task.open(run == Run.STOCK_42 ? store : wrapped(kind, store)));
        }
        if (run != Run.FOLDB_ENDED_EARLY) {
            final Map<TopicPartition, Long> offsets = start(run, stores);
            for (final Kind kind : Kind.values()) {
                work(run, kind, tasks.get(kind), stores.get(kind.partition()),
                    offsets.get(kind.partition()));
            }
        }
        stores.values().forEach(StateStore::close);
        finish(run);
    }

    /** Returns the offsets that the start finds, as this version of Streams looks for them. */
    private Map<TopicPartition, Long> start(
            final Run run, final Map<TopicPartition, StateStore> stores) throws IOException {
        if (run == Run.STOCK_42) {
            return checkpoint().read();
        }
        LegacyCheckpointingStateStore.migrateLegacyOffsets("", states, TASK, stores);
        final Map<TopicPartition, Long> offsets = new HashMap<>();
        stores.forEach((partition, store) ->
            offsets.put(partition, store.committedOffset(partition)));
        return offsets;
    }

    /** Restores, checks, writes new records and commits them. */
    private void work(
            final Run run,
            final Kind kind,
            final TaskContext task,
            final StateStore store,
            final Long offset) {
        final List<ConsumerRecord<byte[], byte[]>> changelog = changelogs.get(kind);
        final int from = offset == null ? 0 : (int) (offset + 1);
        task.restore(List.copyOf(changelog.subList(from, changelog.size())));
        final StateStore inner = LegacyCheckpointingStateStore.maybeUnwrapStore(store);
        assertEquals(changelog.size(), kind.keys(inner).size(),
            () -> run + " " + kind + " after a restore from " + from);
        final TopicPartition partition = kind.partition();
        for (int i = 0; i < RECORDS; i++) {
            final int number = changelog.size();
            final Bytes key = Bytes.wrap(("key" + number).getBytes());
            final byte[] value = "01234567v".getBytes();
            task.process("input", 0, number);
            kind.put(inner, key, 1000L * number, value);
            changelog.add(new ConsumerRecord<>(partition.topic(), 0, number,
                kind.changelogKey(key, 1000L * number), value));
        }
        if (run != Run.STOCK_42) {
            store.commit(Map.of(partition, changelog.size() - 1L));
        }
    }

    private void finish(final Run run) throws IOException {
        final Map<TopicPartition, Long> offsets = new HashMap<>();
        changelogs.forEach((kind, changelog) ->
            offsets.put(kind.partition(), changelog.size() - 1L));
        if (run == Run.STOCK_42) {
            checkpoint().write(offsets);
        } else if (run == Run.STOCK_UPGRADED) {
            LegacyCheckpointingStateStore.maybeDowngradeOffsets(
                "", UpgradeFromValues.UPGRADE_FROM_42, states, TASK, offsets);
        } else if (run != Run.FOLDB_ENDED_EARLY) {
            assertFalse(checkpoint(directory()).exists());
        }
    }

    private OffsetCheckpoint checkpoint() {
        return new OffsetCheckpoint(checkpoint(directory()));
    }

    private static File checkpoint(final File directory) {
        return new File(directory, LegacyCheckpointingStateStore.CHECKPOINT_FILE_NAME);
    }
}
