package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsOffsetsInStores;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.BytesSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the same operations on the stock store and on foldb's, and compares all that they show. */
class KeyValueContractTest {
    private static final int SEEDS = 12;
    private static final int STEPS = 1500;

    @TempDir
    Path directory;

    private TestStores stockContext;
    private TestStores ownContext;
    private KeyValueStore<Bytes, byte[]> stock;
    private KeyValueStore<Bytes, byte[]> own;
    private Random random;

    private void create(final String name) {
        stockContext = new TestStores(directory.resolve(name + "-stock").toFile(),
            StreamsConfig.AT_LEAST_ONCE);
        ownContext = new TestStores(directory.resolve(name + "-own").toFile(),
            StreamsConfig.AT_LEAST_ONCE);
        stock = Stores.persistentKeyValueStore("store").get();
        own = FoldbStores.keyValueStore("store").get();
        open();
    }

    private void open() {
        stockContext.open(stock);
        ownContext.open(own);
    }

    private void close() {
        stock.close();
        own.close();
    }

    /** Calls both stores, and compares what they return or throw. */
    private void both(final String step,
                      final Function<KeyValueStore<Bytes, byte[]>, Object> call) {
        assertEquals(shown(call, stock), shown(call, own), step);
    }

    private static String shown(final Function<KeyValueStore<Bytes, byte[]>, Object> call,
                                final KeyValueStore<Bytes, byte[]> store) {
        try {
            return shown(call.apply(store));
        } catch (final RuntimeException error) {
            return error.getClass().getName()
                + (error instanceof NullPointerException && isOfTheVirtualMachine(error)
                    ? "" : ": " + error.getMessage());
        }
    }

    /** Whether the message names code, as for a null that no check found. */
    private static boolean isOfTheVirtualMachine(final RuntimeException error) {
        return error.getMessage() == null || error.getMessage().startsWith("Cannot ");
    }

    private static String shown(final Object value) {
        if (value instanceof byte[] bytes) {
            return HexFormat.of().formatHex(bytes);
        }
        if (value instanceof KeyValue<?, ?> entry) {
            return shown(entry.key) + "=" + shown(entry.value);
        }
        if (value instanceof Bytes bytes) {
            return HexFormat.of().formatHex(bytes.get());
        }
        if (value instanceof KeyValueIterator<?, ?> iterator) {
            final List<String> entries = new ArrayList<>();
            try (iterator) {
                while (iterator.hasNext()) {
                    final String peeked = shown(iterator.peekNextKey());
                    entries.add(peeked + "|" + shown(iterator.next()));
                }
            }
            return entries.toString();
        }
        return Objects.toString(value);
    }

    /** Returns a key of up to 3 bytes of few values, so that keys meet and are prefixes. */
    private Bytes key() {
        final byte[] key = new byte[random.nextInt(4)];
        for (int i = 0; i < key.length; i++) {
            key[i] = (byte) new int[] {0, 1, 0x61, 0x7F, 0x80, 0xFF}[random.nextInt(6)];
        }
        return Bytes.wrap(key);
    }

    private Bytes bound() {
        return random.nextInt(8) == 0 ? null : key();
    }

    private byte[] value() {
        if (random.nextInt(6) == 0) {
            return null;
        }
        final byte[] value = new byte[random.nextInt(40) == 0 ? 5000 : random.nextInt(24)];
        random.nextBytes(value);
        return value;
    }

    @Test
    void randomOperationsGiveTheSame() {
        for (int seed = 0; seed < SEEDS; seed++) {
            random = new Random(seed);
            create("seed" + seed);
            for (int step = 0; step < STEPS; step++) {
                step("seed " + seed + " step " + step);
            }
            both("all", KeyValueStore::all);
            close();
        }
    }

    private void step(final String step) {
        stockContext.at("topic", random.nextInt(2), random.nextInt(1000));
        ownContext.at("topic", 0, 0);
        final Bytes key = key();
        final byte[] value = value();
        switch (random.nextInt(14)) {
            case 0, 1, 2, 3 -> both(step + " put", store -> {
                store.put(key, value);
                return null;
            });
            case 4 -> both(step + " putIfAbsent", store -> store.putIfAbsent(key, value));
            case 5 -> both(step + " delete", store -> store.delete(key));
            case 6 -> {
                final List<KeyValue<Bytes, byte[]>> entries = new ArrayList<>();
                for (int i = random.nextInt(6); i > 0; i--) {
                    entries.add(KeyValue.pair(key(), value()));
                }
                both(step + " putAll", store -> {
                    store.putAll(entries);
                    return null;
                });
            }
            case 7, 8 -> both(step + " get", store -> store.get(key));
            case 9, 10 -> {
                final Bytes from = bound();
                final Bytes to = bound();
                both(step + " range " + from + " " + to, store -> store.range(from, to));
                both(step + " reverseRange " + from + " " + to,
                    store -> store.reverseRange(from, to));
            }
            case 11 -> both(step + " prefixScan " + key, store -> withPrefix(key, store));
            case 12 -> {
                both(step + " all", KeyValueStore::all);
                both(step + " reverseAll", KeyValueStore::reverseAll);
            }
            default -> {
                if (random.nextInt(10) == 0) {
                    close();
                    open();
                } else {
                    iterateDuringWrites(step);
                }
            }
        }
    }

    /**
     * Scans a prefix. After a prefix that ends in 0xFF, the stock store also shows one key that
     * does not begin with it. That key is left out.
     */
    private static List<String> withPrefix(final Bytes prefix,
                                           final KeyValueStore<Bytes, byte[]> store) {
        final List<String> entries = new ArrayList<>();
        final boolean isStock = !(store instanceof FoldbKeyValueStore);
        try (KeyValueIterator<Bytes, byte[]> scan =
            store.prefixScan(prefix, new BytesSerializer())) {
            scan.forEachRemaining(entry -> {
                if (!isStock || shown(entry.key).startsWith(shown(prefix))) {
                    entries.add(shown(entry));
                }
            });
        }
        return entries;
    }

    private void iterateDuringWrites(final String step) {
        final boolean reverse = random.nextBoolean();
        final KeyValueIterator<Bytes, byte[]> first =
            reverse ? stock.reverseAll() : stock.all();
        final KeyValueIterator<Bytes, byte[]> second = reverse ? own.reverseAll() : own.all();
        try (first; second) {
            while (first.hasNext()) {
                final Bytes key = key();
                final byte[] value = value();
                if (random.nextBoolean()) {
                    both(step + " put during iteration", store -> {
                        store.put(key, value);
                        return null;
                    });
                }
                assertEquals(shown(first.next()), shown(second.next()), step);
            }
            assertEquals(false, second.hasNext(), step);
        }
    }

    @Test
    void badArgumentsThrowTheSame() {
        create("bad");
        both("put", store -> {
            store.put(null, new byte[1]);
            return null;
        });
        both("putIfAbsent", store -> store.putIfAbsent(null, new byte[1]));
        both("delete", store -> store.delete(null));
        both("get", store -> store.get(null));
        both("putAll", store -> {
            store.putAll(List.of(KeyValue.pair(Bytes.wrap(new byte[1]), new byte[1]),
                KeyValue.pair(null, new byte[1])));
            return null;
        });
        both("putAll is all or nothing", KeyValueStore::all);
        both("prefix", store -> store.prefixScan(null, new BytesSerializer()));
        both("serializer", store -> store.prefixScan(Bytes.wrap(new byte[1]), null));
        both("range", store -> store.range(Bytes.wrap(new byte[] {2}), Bytes.wrap(new byte[1])));
        both("exhausted", store -> {
            try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
                return all.next();
            }
        });
        both("exhausted peek", store -> {
            try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
                return all.peekNextKey();
            }
        });
        close();
    }

    @Test
    void closedStoresThrowTheSame() {
        create("closed");
        final Bytes key = Bytes.wrap(new byte[1]);
        both("put", store -> {
            store.put(key, new byte[1]);
            return store.isOpen();
        });
        final KeyValueIterator<Bytes, byte[]> first = stock.all();
        final KeyValueIterator<Bytes, byte[]> second = own.all();
        close();
        close();
        both("isOpen", KeyValueStore::isOpen);
        both("put", store -> {
            store.put(key, new byte[1]);
            return null;
        });
        both("putIfAbsent", store -> store.putIfAbsent(key, new byte[1]));
        both("get", store -> store.get(key));
        both("range", store -> store.range(key, key));
        both("reversed range", store -> store.range(Bytes.wrap(new byte[] {2}), key));
        both("all", KeyValueStore::all);
        both("reverseAll", KeyValueStore::reverseAll);
        both("prefixScan", store -> store.prefixScan(key, new BytesSerializer()));
        both("approximateNumEntries", KeyValueStore::approximateNumEntries);
        if (KafkaVersions.STORES_KEEP_OFFSETS) {
            both("committedOffset", store -> store.committedOffset(new TopicPartition("t", 0)));
            both("commit", store -> {
                store.commit(java.util.Map.of());
                return null;
            });
        }
        assertEquals(assertClosed(first), assertClosed(second));
    }

    private static String assertClosed(final KeyValueIterator<Bytes, byte[]> iterator) {
        try {
            return "" + iterator.hasNext();
        } catch (final RuntimeException error) {
            assertTrue(error.getMessage().endsWith("for store store has closed"),
                error.getMessage());
            return error.getClass().getName();
        }
    }

    @Test
    void positionsAndQueriesGiveTheSame() {
        create("queries");
        for (int i = 0; i < 20; i++) {
            stockContext.at("topic", i % 3, i);
            ownContext.at("topic", i % 3, i);
            final byte[] bytes = {(byte) i};
            both("put", store -> {
                store.put(Bytes.wrap(bytes), bytes);
                return store.getPosition();
            });
        }
        both("putAll", store -> {
            store.putAll(List.of(KeyValue.pair(Bytes.wrap(new byte[] {1}), new byte[2])));
            return store.getPosition();
        });
        final Bytes key = Bytes.wrap(new byte[] {7});
        both("key query", store -> store.query(KeyQuery.<Bytes, byte[]>withKey(key),
            PositionBound.unbounded(), new QueryConfig(false)).getResult());
        both("range query", store -> store.query(
            RangeQuery.<Bytes, byte[]>withLowerBound(key).withDescendingKeys(),
            PositionBound.unbounded(), new QueryConfig(false)).getResult());
        both("bound", store -> store.query(KeyQuery.<Bytes, byte[]>withKey(key),
            PositionBound.at(org.apache.kafka.streams.query.Position.emptyPosition()
                .withComponent("topic", 0, 1000)), new QueryConfig(false)).getFailureMessage());
        close();
    }

    @Test
    @NeedsOffsetsInStores
    void committedOffsetsAndPositionsSurviveAReopen() {
        create("offsets");
        final TopicPartition partition = new TopicPartition("log", 3);
        stockContext.at("topic", 0, 9);
        ownContext.at("topic", 0, 9);
        both("put", store -> {
            store.put(Bytes.wrap(new byte[1]), new byte[1]);
            store.commit(java.util.Map.of(partition, 77L));
            return store.committedOffset(partition);
        });
        // The stock store keeps its position in a callback of the commit.
        own.close();
        ownContext.open(own);
        assertEquals(77L, own.committedOffset(partition));
        assertEquals(9L, own.getPosition().getPartitionPositions("topic").get(0));
        both("empty commit", store -> {
            store.commit(java.util.Map.of());
            return store.committedOffset(partition);
        });
        close();
    }

    @Test
    void aRestoredStoreHasTheSameEntries() {
        random = new Random(7);
        create("restored");
        final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            records.add(new ConsumerRecord<>("log", 0, i, key().get(), value()));
            if (records.size() == 700) {
                stockContext.restore(records);
                ownContext.restore(records);
                records.clear();
            }
        }
        stockContext.restore(records);
        ownContext.restore(records);
        both("all", KeyValueStore::all);
        close();
    }
}
