package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.internals.RocksDbTimeOrderedSessionBytesStoreSupplier;
import org.apache.kafka.streams.state.internals.SessionKeySchema;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Random operations on a session store of Kafka Streams and on ours, with the same answers. */
class SessionStoreContractTest {
    private static final Duration RETENTION = Duration.ofMillis(150_000);

    /** All times are multiples of this. So some lie exactly at the edges of the retention. */
    private static final long STEP = 1_000;

    @ParameterizedTest
    @CsvSource({"false, 1", "false, 2", "true, 3", "true, 4"})
    void answersLikeTheStockStore(
            final boolean byTime, final long seed, @TempDir final Path directory) throws Exception {
        final Random random = new Random(seed);
        final Supplier<SessionStore<Bytes, byte[]>> stock = byTime
            ? new RocksDbTimeOrderedSessionBytesStoreSupplier(
                "s", RETENTION.toMillis(), true)::get
            : Stores.persistentSessionStore("s", RETENTION)::get;
        int found = 0;
        try (BothStores<SessionStore<Bytes, byte[]>> both = new BothStores<>(
                directory, stock, new FoldbSessionStoreSupplier("s", RETENTION, byTime)::get)) {
            long now = 0;
            final List<Windowed<Bytes>> written = new ArrayList<>();
            for (int step = 0; step < 2_000; step++) {
                now += STEP
                    * (random.nextInt(20) == 0 ? random.nextInt(40) : random.nextInt(10) / 9);
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
                    case 2, 3, 4, 5, 6 -> read(both, random, now, written);
                    case 7, 8, 9 -> {
                        // The end of a removed session moves the stream time, but expires nothing.
                        // Before Kafka Streams 4.3, the next late record does that in the stock
                        // store. Streams itself removes no session of the future.
                        final Windowed<Bytes> session = random.nextInt(20) == 0
                            && KafkaVersions.STORES_KEEP_OFFSETS
                            ? session(random, now + STEP * random.nextInt(300))
                            : any(written, random, now);
                        both.write(store -> store.remove(session));
                    }
                    default -> {
                        final Windowed<Bytes> session = session(random, now);
                        final byte[] value = value(random);
                        both.write(store -> store.put(session, value));
                        written.add(session);
                    }
                }
                if (step % 250 == 0) {
                    found += BothStores.drain(both.ours().fetch(null, null)).size();
                }
            }
        }
        assertTrue(found > 500, "the store had entries, found " + found);
    }

    private static void read(
            final BothStores<SessionStore<Bytes, byte[]>> both,
            final Random random,
            final long now,
            final List<Windowed<Bytes>> written) {
        final Bytes key = BothStores.key(random);
        final Bytes from = BothStores.bound(random);
        final Bytes to = BothStores.bound(random);
        final long earliest = random.nextInt(6) == 0 ? 0 : time(random, now);
        final long latest =
            random.nextInt(6) == 0 ? Long.MAX_VALUE : earliest + STEP * random.nextInt(100);
        final Windowed<Bytes> session = any(written, random, now);
        both.same("one session", store -> store.fetchSession(
            session.key(), session.window().start(), session.window().end()));
        both.same("by key", store -> store.findSessions(key, earliest, latest));
        both.same("by key backward", store -> store.backwardFindSessions(key, earliest, latest));
        both.same("by keys", store -> store.findSessions(from, to, earliest, latest));
        both.same("by keys backward",
            store -> store.backwardFindSessions(from, to, earliest, latest));
        // The stock store finds nothing up to Long.MAX_VALUE, so this asks for a day at most.
        final long latestEnd = Math.min(latest, earliest + 86_400_000);
        both.same("by end", store -> store.findSessions(earliest, latestEnd));
        both.same("by end, the wrong way round", store -> store.findSessions(latestEnd, earliest));
        both.same("fetch", store -> store.fetch(key));
        both.same("fetch backward", store -> store.backwardFetch(key));
        both.same("fetch keys", store -> store.fetch(from, to));
        both.same("fetch keys backward", store -> store.backwardFetch(from, to));
        final Query<KeyValueIterator<Windowed<Bytes>, byte[]>> query =
            WindowRangeQuery.withKey(key);
        both.same("query", store -> BothStores.query(store, query));
        both.same("a null key", store -> store.findSessions((Bytes) null, earliest, latest));
    }

    private static List<ConsumerRecord<byte[], byte[]>> records(
            final Random random, final long now) {
        final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            final byte[] key = SessionKeySchema.toBinary(session(random, now)).get();
            records.add(new ConsumerRecord<>("log", 0, i, key, value(random)));
        }
        return records;
    }

    private static Windowed<Bytes> any(
            final List<Windowed<Bytes>> written, final Random random, final long now) {
        return written.isEmpty()
            ? session(random, now)
            : written.get(random.nextInt(written.size()));
    }

    private static Windowed<Bytes> session(final Random random, final long now) {
        final long start = time(random, now);
        final long end = start + (random.nextInt(3) == 0 ? 0 : STEP * random.nextInt(30));
        return new Windowed<>(BothStores.key(random), new SessionWindow(start, end));
    }

    private static long time(final Random random, final long now) {
        return Math.max(0, now - STEP * random.nextInt(random.nextInt(10) == 0 ? 400 : 60));
    }

    private static byte[] value(final Random random) {
        return random.nextInt(8) == 0
            ? null
            : ByteBuffer.allocate(12).putLong(random.nextLong()).putInt(random.nextInt()).array();
    }
}
