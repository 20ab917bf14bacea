package foldb.streams;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.internals.metrics.ClientMetrics;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.StateSerdes;

/**
 * What the versions of Kafka Streams have. The stores use public interfaces, and work with each
 * version that has the methods below or does not. Merges replace internal classes, so they need a
 * version of the list.
 */
final class KafkaVersions {
    /** The versions whose processors {@link MergingProcessorWrapper} replaces. */
    static final List<String> KNOWN = List.of("4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1");

    /** Whether stores keep the offsets of their data, as from 4.3 on. */
    static final boolean STORES_KEEP_OFFSETS = has(StateStore.class, "commit", Map.class);

    /** Whether the DSL asks for stores of a format, as from 4.3 on. */
    static final boolean STORES_HAVE_FORMATS = has(DslKeyValueParams.class, "dslStoreFormat");

    /** Whether serdes of stores see the headers of records, as from 4.3 on. */
    static final boolean SERDES_SEE_HEADERS =
        has(StateSerdes.class, "rawKey", Object.class, Headers.class);

    private KafkaVersions() {
    }

    /** Returns the version that runs. */
    static String present() {
        return ClientMetrics.version();
    }

    /** Returns why this version cannot merge, or {@code null}. */
    static String obstacle() {
        return KNOWN.contains(present()) ? null
            : "this version of foldb knows the processors of Kafka Streams "
                + String.join(", ", KNOWN) + ", and this is " + present();
    }

    private static boolean has(Class<?> type, String method, Class<?>... parameters) {
        try {
            type.getMethod(method, parameters);
            return true;
        } catch (NoSuchMethodException e) {
            return false;
        }
    }
}
