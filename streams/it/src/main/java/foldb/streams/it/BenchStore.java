package foldb.streams.it;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Measures a store alone, in a process of its own, and prints a line {@code NAME VALUE} for each
 * figure. Arguments: kind, directory, mode ({@code store}, {@code restore} or {@code memory}),
 * size, bytes of cache (0: RocksDB's default).
 */
final class BenchStore {
    private static final int VALUE_BYTES = 100;
    private static final int RANGE_ENTRIES = 100;
    private static final int RESTORE_BATCH = 1000;
    private static final int RECORDS_OF_SMALL_STORE = 10_000;

    private final StoreKind kind;
    private final File directory;
    private final Map<String, String> settings = new HashMap<>();

    private BenchStore(StoreKind kind, Path directory, long cacheBytes) {
        this.kind = kind;
        this.directory = directory.toFile();
        settings.put("application.id", "bench");
        settings.put("bootstrap.servers", "localhost:1");
        cache(settings, cacheBytes);
    }

    /** Adds the configuration of the budget of memory, for both kinds. */
    static void cache(Map<String, String> settings, long bytes) {
        if (bytes > 0) {
            settings.put("rocksdb.config.setter", EqualCaches.class.getName());
            settings.put(EqualCaches.BYTES, String.valueOf(bytes));
            settings.put("foldb.memory.bytes", String.valueOf(bytes));
        }
    }

    public static void main(String[] arguments) throws Exception {
        BenchStore bench = new BenchStore(StoreKind.of(arguments[0]), Path.of(arguments[1]),
            Long.parseLong(arguments[4]));
        int size = Integer.parseInt(arguments[3]);
        switch (arguments[2]) {
            case "store" -> {
                // The first round compiles the code.
                bench.operations("warm", size / 10, false);
                bench.operations("measured", size, true);
            }
            case "restore" -> {
                bench.restore("warm", size / 10, false);
                bench.restore("measured", size, true);
            }
            case "memory" -> bench.memory(size);
            default -> throw new IllegalArgumentException(arguments[2]);
        }
    }

    private KeyValueStore<Bytes, byte[]> open(String name, BenchContext context) throws Exception {
        DslStoreSuppliers suppliers = kind == StoreKind.STOCK ? BuiltInDslStoreSuppliers.ROCKS_DB
            : Utils.newInstance("foldb.streams.FoldbStoreSuppliers", DslStoreSuppliers.class);
        suppliers.configure(context.appConfigs());
        KeyValueStore<Bytes, byte[]> store =
            suppliers.keyValueStore(new DslKeyValueParams(name, DslStoreFormat.PLAIN)).get();
        store.init(context, store);
        return store;
    }

    private BenchContext context(String name) {
        return BenchContext.of(new File(directory, name), settings);
    }

    private static byte[] key(long number) {
        return ByteBuffer.allocate(16).putLong(mix(number)).putLong(number).array();
    }

    private static byte[] value(long number) {
        byte[] value = new byte[VALUE_BYTES];
        for (int at = 0; at + 8 <= VALUE_BYTES; at += 8) {
            ByteBuffer.wrap(value).putLong(at, mix(number + at));
        }
        return value;
    }

    private static long mix(long number) {
        long z = (number + 1) * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 29)) * 0xBF58476D1CE4E5B9L;
        return z ^ (z >>> 32);
    }

    private void operations(String name, int count, boolean shown) throws Exception {
        KeyValueStore<Bytes, byte[]> store = open(name, context(name));
        long start = System.nanoTime();
        for (int at = 0; at < count; at++) {
            store.put(Bytes.wrap(key(at)), value(at));
        }
        double put = micros(start, count);
        store.commit(Map.of(new TopicPartition("bench", 0), (long) count));
        start = System.nanoTime();
        for (int at = 0; at < count; at++) {
            int asked = (int) Long.remainderUnsigned(mix(at * 31L), count);
            byte[] found = store.get(Bytes.wrap(key(asked)));
            Failure.unless(found != null && found.length == VALUE_BYTES, "no value");
        }
        double get = micros(start, count);
        byte[][] sorted = new byte[count][];
        for (int at = 0; at < count; at++) {
            sorted[at] = key(at);
        }
        Arrays.sort(sorted, Arrays::compareUnsigned);
        int ranges = count / RANGE_ENTRIES;
        start = System.nanoTime();
        for (int at = 0; at < ranges; at++) {
            int from = (int) Long.remainderUnsigned(mix(at), count - RANGE_ENTRIES);
            int found = 0;
            try (KeyValueIterator<Bytes, byte[]> range = store.range(Bytes.wrap(sorted[from]),
                    Bytes.wrap(sorted[from + RANGE_ENTRIES - 1]))) {
                while (range.hasNext()) {
                    range.next();
                    found++;
                }
            }
            Failure.unless(found == RANGE_ENTRIES, "a range has " + found + " entries");
        }
        double range = micros(start, ranges);
        start = System.nanoTime();
        int found = 0;
        try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
            while (all.hasNext()) {
                all.next();
                found++;
            }
        }
        double all = micros(start, count);
        Failure.unless(found == count, "the store has " + found + " entries");
        store.close();
        if (shown) {
            System.out.println("put " + put);
            System.out.println("get " + get);
            System.out.println("range " + range);
            System.out.println("all " + all);
        }
    }

    private void restore(String name, int count, boolean shown) throws Exception {
        BenchContext context = context(name);
        KeyValueStore<Bytes, byte[]> store = open(name, context);
        long nanos = 0;
        int keys = count / 2;
        for (int at = 0; at < count; at += RESTORE_BATCH) {
            List<ConsumerRecord<byte[], byte[]>> batch = new ArrayList<>();
            for (int number = at; number < at + RESTORE_BATCH; number++) {
                long key = Long.remainderUnsigned(mix(number * 31L), keys);
                batch.add(new ConsumerRecord<>("bench", 0, number, key(key), value(number)));
            }
            long start = System.nanoTime();
            context.restore().restoreBatch(batch);
            nanos += System.nanoTime() - start;
        }
        long start = System.nanoTime();
        store.commit(Map.of(new TopicPartition("bench", 0), (long) count));
        nanos += System.nanoTime() - start;
        store.close();
        if (shown) {
            System.out.println("restore " + count * 1e9 / nanos);
        }
    }

    private void memory(int stores) throws Exception {
        List<KeyValueStore<Bytes, byte[]>> open = new ArrayList<>();
        for (int number = 0; number < stores; number++) {
            KeyValueStore<Bytes, byte[]> store = open("s" + number, context("s" + number));
            for (int at = 0; at < RECORDS_OF_SMALL_STORE; at++) {
                store.put(Bytes.wrap(key(at)), value(at));
            }
            store.commit(Map.of(new TopicPartition("bench", 0), 1L));
            open.add(store);
        }
        System.gc();
        Thread.sleep(3000);
        System.out.println("rss " + Child.residentMibOfThis());
        open.forEach(KeyValueStore::close);
    }

    private static double micros(long start, int operations) {
        return (System.nanoTime() - start) / 1000.0 / operations;
    }
}
