package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs a topology of the DSL on foldb and on the stock store. */
class TopologyTest {
    @TempDir
    Path directory;

    private Properties configs(final String name, final String guarantee) {
        final Properties configs = new Properties();
        configs.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:1");
        configs.put(StreamsConfig.STATE_DIR_CONFIG, directory.toString());
        configs.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
        return configs;
    }

    private static Properties onFoldb(final Properties configs) {
        configs.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
            FoldbStoreSuppliers.class.getName());
        return configs;
    }

    /** Sums of the values by key, and a join of each value with the sum so far. */
    private static Topology sums(final Properties configs,
                                 final KeyValueBytesStoreSupplier supplier) {
        final Materialized<String, Long, KeyValueStore<Bytes, byte[]>> materialized =
            supplier == null ? Materialized.as("sums") : Materialized.as(supplier);
        final StreamsBuilder builder =
            new StreamsBuilder(new TopologyConfig(new StreamsConfig(configs)));
        final var input = builder.stream("in", Consumed.with(Serdes.String(), Serdes.Long()));
        final var sums = input.groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
            .aggregate(() -> 0L, (key, value, sum) -> sum + value,
                materialized.withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()));
        sums.toStream().to("sums-out", Produced.with(Serdes.String(), Serdes.Long()));
        input.join(sums, (value, sum) -> value * 1_000_000 + sum)
            .to("joined", Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    /** Runs the topology, and returns its output and the entries of its store. */
    private List<Object> run(final Properties configs, final KeyValueBytesStoreSupplier supplier) {
        final Random random = new Random(5);
        final List<Object> shown = new ArrayList<>();
        try (TopologyTestDriver driver =
            new TopologyTestDriver(sums(configs, supplier), configs)) {
            final var input =
                driver.createInputTopic("in", new StringSerializer(), new LongSerializer());
            for (int i = 0; i < 2000; i++) {
                input.pipeInput("key" + random.nextInt(50), (long) random.nextInt(100),
                    1_000_000L + random.nextInt(1000));
            }
            for (final String topic : List.of("sums-out", "joined")) {
                final List<TestRecord<String, Long>> records = driver.createOutputTopic(topic,
                    new StringDeserializer(), new LongDeserializer()).readRecordsToList();
                shown.addAll(records);
            }
            final Map<String, String> entries = new TreeMap<>();
            try (KeyValueIterator<String, Long> all =
                driver.<String, Long>getKeyValueStore("sums").all()) {
                while (all.hasNext()) {
                    final KeyValue<String, Long> entry = all.next();
                    entries.put(entry.key, "" + entry.value);
                }
            }
            shown.add(entries);
            final boolean isOwn = supplier != null
                || configs.containsKey(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG);
            final String scope = isOwn ? "foldb-state-id" : "rocksdb-state-id";
            assertTrue(driver.metrics().keySet().stream()
                .anyMatch(metric -> metric.tags().containsKey(scope)), scope);
            final Path task = directory.resolve(
                configs.getProperty(StreamsConfig.APPLICATION_ID_CONFIG)).resolve("0_0");
            assertEquals(isOwn, Files.exists(task.resolve("foldb/sums")));
            assertEquals(!isOwn, Files.exists(task.resolve("rocksdb")));
        }
        return shown;
    }

    @Test
    void theDslGivesTheSameOnFoldbAndOnTheStockStore() {
        for (final String guarantee
            : List.of(StreamsConfig.AT_LEAST_ONCE, StreamsConfig.EXACTLY_ONCE_V2)) {
            final List<Object> expected = run(configs("stock-" + guarantee, guarantee), null);
            assertTrue(expected.size() > 2000, "" + expected.size());
            assertEquals(expected, run(onFoldb(configs("own-" + guarantee, guarantee)), null));
            assertEquals(expected, run(configs("named-" + guarantee, guarantee),
                FoldbStores.timestampedKeyValueStore("sums")));
        }
    }

    @Test
    void aPlainStoreWorksBehindTheAdapterForTimestamps() {
        final String guarantee = StreamsConfig.AT_LEAST_ONCE;
        final List<Object> expected = run(configs("stock", guarantee), null);
        final List<Object> plain =
            run(configs("plain", guarantee), FoldbStores.keyValueStore("sums"));
        assertEquals(expected.get(expected.size() - 1), plain.get(plain.size() - 1));
    }

    @Test
    void metricsCountWhatTheStoreDoes() {
        final Properties configs =
            onFoldb(configs("metrics", StreamsConfig.AT_LEAST_ONCE));
        try (TopologyTestDriver driver = new TopologyTestDriver(sums(configs, null), configs)) {
            final var input =
                driver.createInputTopic("in", new StringSerializer(), new LongSerializer());
            for (int i = 0; i < 10; i++) {
                input.pipeInput("key" + i, 1L);
            }
            assertEquals(10L, metric(driver.metrics(), "puts-total"));
            assertEquals(10L, metric(driver.metrics(), "gets-total"));
            assertEquals(10L, metric(driver.metrics(), "estimate-num-keys"));
        }
    }

    private static Object metric(final Map<MetricName, ? extends Metric> metrics,
                                 final String name) {
        return metrics.entrySet().stream()
            .filter(metric -> metric.getKey().name().equals(name))
            .filter(metric -> metric.getKey().tags().containsKey("foldb-state-id"))
            .map(metric -> metric.getValue().metricValue())
            .findFirst().orElseThrow();
    }
}
