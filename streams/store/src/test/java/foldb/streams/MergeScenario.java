package foldb.streams;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.InternalFixedKeyRecordFactory;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.test.TestRecord;

/**
 * Runs a topology in Streams' test driver, which commits after every record. One input record
 * carries many events, so that a commit covers several merges of several keys.
 */
final class MergeScenario implements AutoCloseable {
    static final String INPUT = "input";

    /** One event; {@code null} keys and values are allowed. */
    record Event(String key, Long value, long timestamp) {
        private String text() {
            return (key == null ? "" : key) + "," + (value == null ? "" : value) + "," + timestamp;
        }

        private static Event parse(String text) {
            String[] parts = text.split(",", -1);
            return new Event(parts[0].isEmpty() ? null : parts[0],
                parts[1].isEmpty() ? null : Long.valueOf(parts[1]), Long.parseLong(parts[2]));
        }
    }

    private final TopologyTestDriver driver;

    private MergeScenario(TopologyTestDriver driver) {
        this.driver = driver;
    }

    /** Starts a topology over the events of the input topic. */
    static MergeScenario start(
            Properties properties, Consumer<KStream<String, Long>> declare) {
        return startWith(properties, builder -> declare.accept(events(builder)));
    }

    static MergeScenario startWith(Properties properties, Consumer<StreamsBuilder> declare) {
        StreamsBuilder builder =
            new StreamsBuilder(new TopologyConfig(new StreamsConfig(properties)));
        declare.accept(builder);
        return new MergeScenario(new TopologyTestDriver(
            builder.build(properties), properties, Instant.EPOCH));
    }

    static KStream<String, Long> events(StreamsBuilder builder) {
        return builder.<String, String>stream(INPUT).processValues(Explode::new);
    }

    /** Returns a configuration with foldb's stores and the wrapper. */
    static Properties merging(Path state, String guarantee) {
        Properties properties = stock(state, guarantee);
        properties.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
            FoldbStoreSuppliers.class.getName());
        properties.put(StreamsConfig.PROCESSOR_WRAPPER_CLASS_CONFIG,
            MergingProcessorWrapper.class.getName());
        return properties;
    }

    /** Returns a configuration with Streams' own stores and no record cache. */
    static Properties stock(Path state, String guarantee) {
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
        properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        return properties;
    }

    /** Draws events of few keys, with timestamps that go back and forth. */
    static List<Event> draw(Random random, int count) {
        List<Event> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            events.add(new Event("key" + random.nextInt(7), (long) random.nextInt(200) - 100,
                1000 + random.nextInt(500)));
        }
        return events;
    }

    /** Processes the events, and commits once. */
    void commit(List<Event> events) {
        String text = events.stream().map(Event::text).collect(Collectors.joining(";"));
        driver.createInputTopic(INPUT, new StringSerializer(), new StringSerializer())
            .pipeInput("batch", text, 1000);
    }

    TopologyTestDriver driver() {
        return driver;
    }

    /** Returns what a table's store holds. */
    <V> Map<String, ValueAndTimestamp<V>> table(String store) {
        Map<String, ValueAndTimestamp<V>> table = new TreeMap<>();
        try (KeyValueIterator<String, ValueAndTimestamp<V>> all =
                driver.<String, V>getTimestampedKeyValueStore(store).all()) {
            while (all.hasNext()) {
                KeyValue<String, ValueAndTimestamp<V>> entry = all.next();
                table.put(entry.key, entry.value);
            }
        }
        return table;
    }

    List<TestRecord<String, Long>> records(String topic) {
        return records(topic, new LongDeserializer());
    }

    <V> List<TestRecord<String, V>> records(String topic, Deserializer<V> values) {
        return driver.createOutputTopic(topic, new StringDeserializer(), values)
            .readRecordsToList();
    }

    /** Returns what compaction leaves: the last value and timestamp of each key. */
    static Map<String, String> compacted(List<TestRecord<String, Long>> records) {
        Map<String, String> last = new TreeMap<>();
        records.forEach(record -> last.put(record.key(),
            record.value() + " at " + record.timestamp()));
        return last;
    }

    /** Returns the records of the topic {@code output}, whose values are numbers. */
    List<String> output() {
        return output("output");
    }

    /** Returns the records of a topic whose values are numbers. */
    List<String> output(String topic) {
        return records(topic).stream()
            .map(record -> record.key() + "=" + record.value() + " at " + record.timestamp())
            .toList();
    }

    /** Returns the changelog of the store {@code store}, with keys and values in hex. */
    List<String> logged() {
        return logged("store");
    }

    /** Returns the changelog of a store, with keys and values in hex. */
    List<String> logged(String store) {
        HexFormat hex = HexFormat.of();
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        return driver.createOutputTopic(changelog(store), bytes, bytes)
            .readRecordsToList().stream()
            .map(record -> hex.formatHex(record.key()) + "="
                + (record.value() == null ? null : hex.formatHex(record.value())) + " at "
                + record.timestamp())
            .toList();
    }

    /** Returns the last record of each key, of what {@link #output} or {@link #logged} gives. */
    static Map<String, String> last(List<String> records) {
        Map<String, String> last = new TreeMap<>();
        records.forEach(record -> last.put(record.split("=")[0], record));
        return last;
    }

    /** Returns what {@link #last} returns, without the keys that are deleted then. */
    static Map<String, String> live(List<String> records) {
        Map<String, String> live = last(records);
        live.values().removeIf(record -> record.contains("=null at"));
        return live;
    }

    static String changelog(String store) {
        return "app-" + store + "-changelog";
    }

    /** Returns a metric of the driver; the sum over all instances, or -1 without any. */
    double metric(String name) {
        return sum(metric -> metric.name().equals(name));
    }

    /** Returns a metric of a store; the sum over all tasks, or -1 without any. */
    double metric(String name, String store) {
        return sum(metric ->
            metric.name().equals(name) && store.equals(metric.tags().get("foldb-state-id")));
    }

    private double sum(Predicate<MetricName> isAsked) {
        Map<MetricName, Double> found = new HashMap<>();
        driver.metrics().forEach((metric, value) -> {
            if (isAsked.test(metric)) {
                found.put(metric, ((Number) value.metricValue()).doubleValue());
            }
        });
        return found.isEmpty() ? -1
            : found.values().stream().mapToDouble(Double::doubleValue).sum();
    }

    @Override
    public void close() {
        driver.close();
    }

    /** Forwards each event of a record under the event's own key. */
    private static final class Explode implements FixedKeyProcessor<String, String, Long> {
        private FixedKeyProcessorContext<String, Long> context;

        @Override
        public void init(FixedKeyProcessorContext<String, Long> context) {
            this.context = context;
        }

        @Override
        public void process(FixedKeyRecord<String, String> record) {
            for (String text : record.value().split(";")) {
                Event event = Event.parse(text);
                context.forward(InternalFixedKeyRecordFactory.create(new Record<>(
                    event.key(), event.value(), event.timestamp(), new RecordHeaders())));
            }
        }
    }
}
