package foldb.streams;

import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.kstream.internals.KStreamAggregate;
import org.apache.kafka.streams.kstream.internals.KStreamReduce;
import org.apache.kafka.streams.kstream.internals.KStreamSessionWindowAggregate;
import org.apache.kafka.streams.kstream.internals.KStreamSlidingWindowAggregate;
import org.apache.kafka.streams.kstream.internals.KStreamWindowAggregate;
import org.apache.kafka.streams.kstream.internals.KeyValueStoreMaterializer;
import org.apache.kafka.streams.kstream.internals.MaterializedStoreFactory;
import org.apache.kafka.streams.kstream.internals.SessionStoreMaterializer;
import org.apache.kafka.streams.kstream.internals.WindowStoreMaterializer;
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
 * Turns {@code count()}, {@code reduce} and {@code aggregate} into blind merges, without windows
 * and over tumbling and hopping windows, in an unmodified topology. Sessions grow in memory.
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
 * {@code foldb.merge.verify} checks the operator against the aggregator. Over sessions the
 * aggregator runs on whole values, and any operator lets the store merge.
 *
 * <p>Streams takes one wrapper only. {@code foldb.processor.wrapper.delegate} names another one,
 * which then wraps what this class makes of each processor.
 *
 * <p>The stock processor stays over sliding windows, and over windows and sessions that emit when
 * they close. It also stays if a downstream operation needs old values, if the store is none of
 * foldb's session stores and timestamped stores, and with a version of Kafka Streams that foldb
 * does not know. One log line then says why.
 */
public final class MergingProcessorWrapper implements ProcessorWrapper {
    private static final Logger LOG = LoggerFactory.getLogger(MergingProcessorWrapper.class);
    private static final String INTERNALS = "org.apache.kafka.streams.kstream.internals.";

    private Map<String, MergeOperator> operators = Map.of();
    private ProcessorWrapper delegate = new NoWrapper();
    private ConfigException badConfig;

    /** Makes a wrapper; Streams calls it, and configures the wrapper next. */
    public MergingProcessorWrapper() {
    }

    @Override
    public void configure(Map<String, ?> configs) {
        try {
            operators = MergeConfig.operators(configs);
            MergeConfig.of(configs);
            MergeConfig.verifiedKeys(configs);
            delegate = delegate(configs);
        } catch (ConfigException e) {
            // Streams would hide an exception from here behind one about this class. The first
            // processor of the topology throws it instead.
            badConfig = e;
        }
    }

    /**
     * Makes the wrapper that the configuration names.
     *
     * @throws ConfigException if there is no such class, or if it is none of a wrapper
     */
    private static ProcessorWrapper delegate(Map<String, ?> configs) {
        Object given = configs.get(FoldbConfig.WRAPPER_DELEGATE);
        if (given == null) {
            return new NoWrapper();
        }
        try {
            Class<? extends ProcessorWrapper> type = given instanceof Class<?> loaded
                ? loaded.asSubclass(ProcessorWrapper.class)
                : Utils.loadClass(given.toString().trim(), ProcessorWrapper.class);
            return configured(type, configs);
        } catch (ClassNotFoundException | ClassCastException e) {
            throw badDelegate(given, e.toString());
        }
    }

    private static ProcessorWrapper configured(
            Class<? extends ProcessorWrapper> type, Map<String, ?> configs) {
        if (type == MergingProcessorWrapper.class) {
            throw badDelegate(type, "it is the wrapper that runs the delegate");
        }
        ProcessorWrapper made;
        try {
            made = Utils.newInstance(type);
        } catch (KafkaException e) {
            throw badDelegate(type, e.toString());
        }
        made.configure(configs);
        return made;
    }

    private static ConfigException badDelegate(Object given, String why) {
        return new ConfigException(FoldbConfig.WRAPPER_DELEGATE, given, "Expected a class with a"
            + " public constructor without arguments that implements "
            + ProcessorWrapper.class.getName() + ": " + why);
    }

    /** Leaves suppliers as they are. */
    private static final class NoWrapper implements ProcessorWrapper {
        @Override
        public <KIn, VIn, KOut, VOut> WrappedProcessorSupplier<KIn, VIn, KOut, VOut>
                wrapProcessorSupplier(
                    String name, ProcessorSupplier<KIn, VIn, KOut, VOut> supplier) {
            return ProcessorWrapper.asWrapped(supplier);
        }

        @Override
        public <KIn, VIn, VOut> WrappedFixedKeyProcessorSupplier<KIn, VIn, VOut>
                wrapFixedKeyProcessorSupplier(
                    String name, FixedKeyProcessorSupplier<KIn, VIn, VOut> supplier) {
            return ProcessorWrapper.asWrappedFixedKey(supplier);
        }
    }

    /**
     * Replaces the supplier if an operator is registered for its store and nothing prevents merges.
     *
     * @throws ConfigException if the configuration names an unknown operator, or if the
     *     aggregation's initial value is not neutral for the operator
     */
    @Override
    public <KIn, VIn, KOut, VOut> WrappedProcessorSupplier<KIn, VIn, KOut, VOut>
            wrapProcessorSupplier(
                String processorName, ProcessorSupplier<KIn, VIn, KOut, VOut> supplier) {
        if (badConfig != null) {
            throw badConfig;
        }
        return delegate.wrapProcessorSupplier(processorName, merging(processorName, supplier));
    }

    /** Returns a supplier that merges, or the stock one. */
    private <KIn, VIn, KOut, VOut> ProcessorSupplier<KIn, VIn, KOut, VOut> merging(
            String processorName, ProcessorSupplier<KIn, VIn, KOut, VOut> supplier) {
        String store = registeredStore(supplier);
        if (store == null) {
            return supplier;
        }
        String obstacle = obstacle(supplier);
        if (obstacle != null) {
            logStock(processorName, store, obstacle);
            return supplier;
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
        return delegate.wrapFixedKeyProcessorSupplier(processorName, supplier);
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
        String unknown = KafkaVersions.obstacle();
        if (unknown != null) {
            return unknown;
        }
        Class<?> type = supplier.getClass();
        if (type == KStreamSlidingWindowAggregate.class) {
            return "the records of a sliding window decide which windows there are, so that each"
                + " record reads the windows near it";
        }
        boolean hasWindows = type == KStreamWindowAggregate.class
            || type == KStreamSessionWindowAggregate.class;
        if (hasWindows && Aggregation.emitsOnClose(supplier)) {
            return "windows that emit when they close are read in the order of time";
        }
        if (!hasWindows && type != KStreamAggregate.class && type != KStreamReduce.class) {
            return type.getSimpleName() + " is not an aggregation of a stream";
        }
        MaterializedStoreFactory<?, ?, ?> materializer = materializer(supplier);
        if (materializer == null) {
            return "its store is not materialized in the usual way";
        }
        if (materializer.isVersionedStore()) {
            return "the store is versioned";
        }
        return Aggregation.sendsOldValues(supplier)
            ? "a downstream operation needs old values" : null;
    }

    /** Returns the factory of the supplier's only store, or {@code null} if it is another one. */
    private static MaterializedStoreFactory<?, ?, ?> materializer(
            ProcessorSupplier<?, ?, ?, ?> supplier) {
        Set<StoreBuilder<?>> stores = supplier.stores();
        if (stores.size() == 1
                && stores.iterator().next() instanceof FactoryWrappingStoreBuilder<?> builder) {
            StoreFactory factory = builder.storeFactory();
            if (factory.getClass() == KeyValueStoreMaterializer.class
                    || factory.getClass() == WindowStoreMaterializer.class
                    || factory.getClass() == SessionStoreMaterializer.class) {
                return (MaterializedStoreFactory<?, ?, ?>) factory;
            }
        }
        return null;
    }
}
