package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.streams.state.internals.RocksDbIndexedTimeOrderedWindowBytesStoreSupplier;
import org.apache.kafka.streams.state.internals.WindowKeySchema;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Random operations on a window store of Kafka Streams and on ours, with the same answers. */
class WindowStoreContractTest {
    private static final Duration RETENTION = Duration.ofMillis(150_000);

    /** All times are multiples of this. So some lie exactly at the edges of the retention. */
    private static final long STEP = 1_000;
    private static final Duration SIZE = Duration.ofMillis(10_000);

    @ParameterizedTest
    @CsvSource({
        "PLAIN, false, 1", "PLAIN, false, 2", "PLAIN, true, 3",
        "TIMESTAMPED, false, 4",
        "SLIDING, false, 7", "SLIDING, true, 8"
    })
    void answersLikeTheStockStore(
            final Kind kind,
            final boolean duplicates,
            final long seed,
            @TempDir final Path directory) throws Exception {
        final Random random = new Random(seed);
        int found = 0;
        try (BothStores<WindowStore<Bytes, byte[]>> both =
                new BothStores<>(directory, kind.stock(duplicates), kind.ours(duplicates))) {
            long now = 0;
            for (int step = 0; step < 2_000; step++) {
                now += STEP
                    * (random.nextInt(20) == 0 ? random.nextInt(40) : random.nextInt(10) / 9);
                final long time = time(random, now);
                switch (random.nextInt(40)) {
                    case 0 -> {
                        if (random.nextInt(10) == 0) {
                            both.reopen();
                        }
                    }
                    case 1 -> {
                        if (random.nextInt(4) == 0) {
                            both.restore(records(random, now));
                        }
                    }
                    case 2, 3, 4, 5, 6 -> read(both, kind, random, now);
                    default -> {
                        final Bytes key = BothStores.key(random);
                        final byte[] value = value(random);
                        both.write(store -> store.put(key, value, time));
                    }
                }
                found += step % 250 == 0 ? BothStores.drain(both.ours().all()).size() : 0;
            }
        }
        assertTrue(found > 500, "the store had entries, found " + found);
    }

    private static void read(
            final BothStores<WindowStore<Bytes, byte[]>> both,
            final Kind kind,
            final Random random,
            final long now) {
        final Bytes key = BothStores.key(random);
        final Bytes from = BothStores.bound(random);
        final Bytes to = BothStores.bound(random);
        final long start = random.nextInt(6) == 0 ? 0 : time(random, now);
        final long end =
            random.nextInt(6) == 0 ? Long.MAX_VALUE : start + STEP * random.nextInt(100);
        both.same("fetch a window", store -> store.fetch(key, start));
        both.same("fetch a key", store -> store.fetch(key, start, end));
        both.same("fetch a key backward", store -> store.backwardFetch(key, start, end));
        both.same("fetch keys", store -> store.fetch(from, to, start, end));
        both.same("fetch keys backward", store -> store.backwardFetch(from, to, start, end));
        both.same("fetch all", store -> store.fetchAll(start, end));
        both.same("fetch all backward", store -> store.backwardFetchAll(start, end));
        both.same("all", WindowStore::all);
        both.same("all backward", WindowStore::backwardAll);
        both.same("the wrong way round", store -> store.fetchAll(end, start));
        final Query<WindowStoreIterator<byte[]>> query = WindowKeyQuery.withKeyAndWindowStartRange(
            key, Instant.ofEpochMilli(start), Instant.ofEpochMilli(now));
        both.same("query", store -> BothStores.query(store, query));
        if (!kind.byTime()) {
            // The stock store by time checks the key only if it has entries in that time.
            both.same("a null key", store -> store.fetch((Bytes) null, start, end));
        }
    }

    private static List<ConsumerRecord<byte[], byte[]>> records(
            final Random random, final long now) {
        final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            final Bytes key = WindowKeySchema.toStoreKeyBinary(
                BothStores.key(random), time(random, now), random.nextInt(3));
            records.add(new ConsumerRecord<>("log", 0, i, key.get(), value(random)));
        }
        return records;
    }

    private static long time(final Random random, final long now) {
        return Math.max(0, now - STEP * random.nextInt(random.nextInt(10) == 0 ? 400 : 60));
    }

    private static byte[] value(final Random random) {
        return random.nextInt(8) == 0
            ? null
            : ByteBuffer.allocate(12).putLong(random.nextLong()).putInt(random.nextInt()).array();
    }

    enum Kind {
        PLAIN, TIMESTAMPED, SLIDING;

        boolean byTime() {
            return this == SLIDING;
        }

        Supplier<WindowStore<Bytes, byte[]>> stock(final boolean duplicates) {
            return switch (this) {
                case PLAIN -> Stores.persistentWindowStore("w", RETENTION, SIZE, duplicates)::get;
                case TIMESTAMPED ->
                    Stores.persistentTimestampedWindowStore("w", RETENTION, SIZE, duplicates)::get;
                case SLIDING -> RocksDbIndexedTimeOrderedWindowBytesStoreSupplier.create(
                    "w", RETENTION, SIZE, duplicates, true)::get;
            };
        }

        Supplier<WindowStore<Bytes, byte[]>> ours(final boolean duplicates) {
            final FoldbWindowStore.Order order = switch (this) {
                case PLAIN, TIMESTAMPED -> FoldbWindowStore.Order.BY_KEY;
                case SLIDING -> FoldbWindowStore.Order.BY_TIME;
            };
            return new FoldbWindowStoreSupplier(
                "w", RETENTION, SIZE, duplicates, this != PLAIN, order)::get;
        }
    }
}
