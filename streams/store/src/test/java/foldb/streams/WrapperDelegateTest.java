package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsMerges;
import foldb.streams.MergeScenario.Event;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.ProcessorWrapper;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.WrappedFixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.WrappedProcessorSupplier;
import org.apache.kafka.streams.state.StoreBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Another wrapper inside ours, because Streams takes one only. */
class WrapperDelegateTest {
    @TempDir
    Path directory;

    /** Counts the records of each processor. */
    public static final class Counting implements ProcessorWrapper {
        private static final Map<String, AtomicLong> RECORDS = new ConcurrentHashMap<>();
        private static final Set<Object> CONFIGURED = ConcurrentHashMap.newKeySet();

        @Override
        public void configure(final Map<String, ?> configs) {
            CONFIGURED.add(configs.get("counting.name"));
        }

        @Override
        public <KIn, VIn, KOut, VOut> WrappedProcessorSupplier<KIn, VIn, KOut, VOut>
                wrapProcessorSupplier(
                    final String name, final ProcessorSupplier<KIn, VIn, KOut, VOut> supplier) {
            final AtomicLong records = RECORDS.computeIfAbsent(name, key -> new AtomicLong());
            return new WrappedProcessorSupplier<>() {
                @Override
                public Set<StoreBuilder<?>> stores() {
                    return supplier.stores();
                }

                @Override
                public Processor<KIn, VIn, KOut, VOut> get() {
                    return counted(supplier.get(), records);
                }
            };
        }

        private static <KIn, VIn, KOut, VOut> Processor<KIn, VIn, KOut, VOut> counted(
                final Processor<KIn, VIn, KOut, VOut> inner, final AtomicLong records) {
            return new Processor<>() {
                @Override
                public void init(final ProcessorContext<KOut, VOut> context) {
                    inner.init(context);
                }

                @Override
                public void process(final Record<KIn, VIn> record) {
                    records.incrementAndGet();
                    inner.process(record);
                }

                @Override
                public void close() {
                    inner.close();
                }
            };
        }

        @Override
        public <KIn, VIn, VOut> WrappedFixedKeyProcessorSupplier<KIn, VIn, VOut>
                wrapFixedKeyProcessorSupplier(
                    final String name, final FixedKeyProcessorSupplier<KIn, VIn, VOut> supplier) {
            RECORDS.computeIfAbsent("fixed", key -> new AtomicLong()).incrementAndGet();
            return ProcessorWrapper.asWrappedFixedKey(supplier);
        }
    }

    private MergeScenario start(final Object delegate) {
        final Properties properties =
            MergeScenario.merging(directory, StreamsConfig.AT_LEAST_ONCE);
        properties.put("foldb.merge.store", "sum");
        properties.put("counting.name", "given");
        properties.put(FoldbConfig.WRAPPER_DELEGATE, delegate);
        return MergeScenario.start(properties, events -> events
            .groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
            .count(Materialized.as("store")));
    }

    @Test
    @NeedsMerges
    void bothWrappersTakeEffect() {
        for (final Object delegate : List.of(Counting.class.getName(), Counting.class)) {
            Counting.RECORDS.clear();
            Counting.CONFIGURED.clear();
            try (MergeScenario scenario = start(delegate)) {
                scenario.commit(List.of(
                    new Event("a", 1L, 1), new Event("a", 1L, 2), new Event("b", 1L, 3)));
                final double merges = scenario.driver().metrics().values().stream()
                    .filter(metric -> metric.metricName().name().equals("merge-total"))
                    .mapToDouble(metric -> ((Number) metric.metricValue()).doubleValue()).sum();
                assertTrue(merges >= 3, "our wrapper merges");
                assertTrue(Counting.RECORDS.entrySet().stream().anyMatch(counted ->
                    counted.getKey().contains("AGGREGATE") && counted.getValue().get() == 3),
                    "the delegate counts: " + Counting.RECORDS);
                assertEquals(Set.of("given"), Counting.CONFIGURED);
                assertTrue(Counting.RECORDS.get("fixed").get() > 0);
            }
        }
    }

    @Test
    void aBadDelegateIsRefused() {
        for (final Object bad : List.of("no.such.Wrapper", String.class.getName(), Integer.class,
                MergingProcessorWrapper.class.getName(), ProcessorWrapper.class.getName())) {
            final ConfigException error =
                assertThrows(ConfigException.class, () -> start(bad).close());
            assertTrue(error.getMessage().contains("foldb.processor.wrapper.delegate")
                && error.getMessage().contains("Expected a class with a public constructor"),
                error.getMessage());
        }
    }
}
