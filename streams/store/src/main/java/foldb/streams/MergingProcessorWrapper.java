package foldb.streams;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.internals.metrics.ClientMetrics;
import org.apache.kafka.streams.kstream.internals.KStreamAggregate;
import org.apache.kafka.streams.kstream.internals.KStreamReduce;
import org.apache.kafka.streams.kstream.internals.KeyValueStoreMaterializer;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.ProcessorWrapper;
import org.apache.kafka.streams.processor.api.WrappedFixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.WrappedProcessorSupplier;
import org.apache.kafka.streams.processor.internals.StoreFactory;
import org.apache.kafka.streams.processor.internals.StoreFactory.FactoryWrappingStoreBuilder;
import org.apache.kafka.streams.state.StoreBuilder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns unwindowed {@code count()}, {@code reduce} and {@code aggregate} into blind merges, in an
 * unmodified topology.
 *
 * <p>Set {@code processor.wrapper.class} to this class and register an operator for each store to
 * merge: {@code foldb.merge.<store name>=sum}. The operators are {@code sum}, {@code min},
 * {@code max}, {@code append}, {@code set} and {@code hyperloglog}. Streams reads the wrapper when
 * it builds the topology, so the builder needs the configuration:
 * {@code new StreamsBuilder(new TopologyConfig(new StreamsConfig(properties)))}.
 *
 * <p>For each record, the aggregator runs on the initializer's fresh value; what it returns is the
 * operand. The registered operator must combine operands to the same result as the aggregator. The
 * store folds each changed key once at commit, logs the full value and forwards it. The output is
 * one record per key and commit, as with Streams' record cache, which is off for such a store.
 *
 * <p>The stock processor stays if a downstream operation needs old values, if the store is not one
 * of foldb's timestamped key-value stores, and with any Kafka version but {@value #KAFKA_VERSION}.
 * One log line then says why.
 */
public final class MergingProcessorWrapper implements ProcessorWrapper {
    /** The version of Kafka Streams whose processors this class replaces. */
    public static final String KAFKA_VERSION = "4.3.1";

    private static final Logger LOG = LoggerFactory.getLogger(MergingProcessorWrapper.class);
    private static final String INTERNALS = "org.apache.kafka.streams.kstream.internals.";

    private Map<String, MergeOperator> operators = Map.of();
    private ConfigException badConfig;

    /** Makes a wrapper; Streams calls it, and configures the wrapper next. */
    public MergingProcessorWrapper() {
    }

    @Override
    public void configure(Map<String, ?> configs) {
        try {
            operators = MergeConfig.operators(configs);
            MergeConfig.of(configs);
        } catch (ConfigException e) {
            // Streams would hide an exception from here behind one about this class. The first
            // processor of the topology throws it instead.
            badConfig = e;
        }
    }

    /**
     * Replaces the supplier if an operator is registered for its store and nothing prevents merges.
     *
     * @throws ConfigException if the configuration names an unknown operator
     */
    @Override
    public <KIn, VIn, KOut, VOut> WrappedProcessorSupplier<KIn, VIn, KOut, VOut>
            wrapProcessorSupplier(
                String processorName, ProcessorSupplier<KIn, VIn, KOut, VOut> supplier) {
        if (badConfig != null) {
            throw badConfig;
        }
        String store = registeredStore(supplier);
        if (store == null) {
            return ProcessorWrapper.asWrapped(supplier);
        }
        String obstacle = obstacle(supplier);
        if (obstacle != null) {
            logStock(processorName, store, obstacle);
            return ProcessorWrapper.asWrapped(supplier);
        }
        return new MergingProcessorSupplier<>(
            processorName, supplier, materializer(supplier), operators.get(store));
    }

    @Override
    public <KIn, VIn, VOut> WrappedFixedKeyProcessorSupplier<KIn, VIn, VOut>
            wrapFixedKeyProcessorSupplier(
                String processorName, FixedKeyProcessorSupplier<KIn, VIn, VOut> supplier) {
        if (badConfig != null) {
            throw badConfig;
        }
        return ProcessorWrapper.asWrappedFixedKey(supplier);
    }

    static void logStock(String processor, String store, String obstacle) {
        LOG.warn("Processor {} does not merge into store {}: {}. It reads and writes the store"
            + " for each record.", processor, store, obstacle);
    }

    /** Returns the supplier's store if an operator is registered for it. */
    private String registeredStore(ProcessorSupplier<?, ?, ?, ?> supplier) {
        if (operators.isEmpty() || !supplier.getClass().getName().startsWith(INTERNALS)) {
            return null;
        }
        Set<StoreBuilder<?>> stores = supplier.stores();
        return stores == null ? null : stores.stream().map(StoreBuilder::name)
            .filter(operators::containsKey).findFirst().orElse(null);
    }

    /** Returns why the processor cannot merge, or {@code null}. */
    private static String obstacle(ProcessorSupplier<?, ?, ?, ?> supplier) {
        if (!KAFKA_VERSION.equals(ClientMetrics.version())) {
            return "this version of foldb replaces processors of Kafka Streams " + KAFKA_VERSION
                + " only, and this is " + ClientMetrics.version();
        }
        Class<?> type = supplier.getClass();
        if (type != KStreamAggregate.class && type != KStreamReduce.class) {
            return type.getSimpleName() + " is not an unwindowed aggregation of a stream";
        }
        KeyValueStoreMaterializer<?, ?> materializer = materializer(supplier);
        if (materializer == null) {
            return "its store is not materialized in the usual way";
        }
        if (materializer.isVersionedStore()) {
            return "the store is versioned";
        }
        return sendsOldValues(supplier) ? "a downstream operation needs old values" : null;
    }

    /** Returns the factory of the supplier's only store, or {@code null} if it is another one. */
    private static KeyValueStoreMaterializer<?, ?> materializer(
            ProcessorSupplier<?, ?, ?, ?> supplier) {
        Set<StoreBuilder<?>> stores = supplier.stores();
        if (stores.size() == 1
                && stores.iterator().next() instanceof FactoryWrappingStoreBuilder<?> builder) {
            StoreFactory factory = builder.storeFactory();
            if (factory.getClass() == KeyValueStoreMaterializer.class) {
                return (KeyValueStoreMaterializer<?, ?>) factory;
            }
        }
        return null;
    }

    /**
     * Returns whether the supplier's processors must forward old values. Streams knows it when it
     * wraps processors, because it does so after the whole topology is declared.
     */
    static boolean sendsOldValues(Object supplier) {
        try {
            Field field = supplier.getClass().getDeclaredField("sendOldValues");
            field.setAccessible(true);
            return field.getBoolean(supplier);
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.debug("Cannot read whether {} sends old values", supplier.getClass(), e);
            return true;
        }
    }
}
