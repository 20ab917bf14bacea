package foldb.streams;

import java.lang.reflect.Field;
import org.apache.kafka.streams.kstream.Aggregator;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.EmitStrategy.StrategyType;
import org.apache.kafka.streams.kstream.Initializer;
import org.apache.kafka.streams.kstream.Reducer;
import org.apache.kafka.streams.kstream.internals.KStreamReduce;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the user gave to an aggregation of the DSL. Its supplier has no methods for it, so this
 * class reads the fields that it has in the versions of {@link KafkaVersions}.
 *
 * @param initializer makes the value that an absent key has; that of {@code reduce} is {@code null}
 * @param aggregator makes the next value from a record and the value before
 */
record Aggregation<K, V, A>(Initializer<A> initializer, Aggregator<K, V, A> aggregator) {
    private static final Logger LOG = LoggerFactory.getLogger(Aggregation.class);

    /** Returns the aggregation of a supplier. */
    @SuppressWarnings("unchecked")
    static <K, V, A> Aggregation<K, V, A> of(Object supplier) {
        try {
            if (supplier instanceof KStreamReduce<?, ?>) {
                Reducer<A> reducer = (Reducer<A>) read(supplier, "reducer");
                return new Aggregation<>(() -> null, (key, value, before) ->
                    before == null ? (A) value : reducer.apply(before, (A) value));
            }
            return new Aggregation<>((Initializer<A>) read(supplier, "initializer"),
                (Aggregator<K, V, A>) read(supplier, "aggregator"));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("Kafka Streams "
                + KafkaVersions.present() + " has other fields than expected", e);
        }
    }

    /**
     * Returns whether the supplier's processors must forward old values. Streams knows it when it
     * wraps processors, because it does so after the whole topology is declared.
     */
    static boolean sendsOldValues(Object supplier) {
        try {
            return (boolean) read(supplier, "sendOldValues");
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.debug("Cannot read whether {} sends old values", supplier.getClass(), e);
            return true;
        }
    }

    /** Returns whether results of the supplier's windows leave when the windows close. */
    static boolean emitsOnClose(Object supplier) {
        try {
            EmitStrategy strategy = (EmitStrategy) read(supplier, "emitStrategy");
            return strategy.type() == StrategyType.ON_WINDOW_CLOSE;
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.debug("Cannot read when {} emits", supplier.getClass(), e);
            return true;
        }
    }

    private static Object read(Object supplier, String name) throws ReflectiveOperationException {
        Field field = supplier.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(supplier);
    }
}
