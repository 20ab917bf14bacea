package foldb.streams;

import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslWindowParams;

/** The formats of values that the DSL asks for. Before 4.3, Streams had no format with headers. */
@SuppressWarnings("deprecation")
final class StoreFormats {
    private StoreFormats() {
    }

    static boolean hasHeaders(DslKeyValueParams params) {
        return KafkaVersions.STORES_HAVE_FORMATS
            && params.dslStoreFormat() == DslStoreFormat.HEADERS;
    }

    static boolean hasHeaders(DslWindowParams params) {
        return KafkaVersions.STORES_HAVE_FORMATS
            && params.dslStoreFormat() == DslStoreFormat.HEADERS;
    }

    static boolean hasHeaders(DslSessionParams params) {
        return KafkaVersions.STORES_HAVE_FORMATS
            && params.storeFormat() == DslStoreFormat.HEADERS;
    }

    static boolean hasTimestamps(DslKeyValueParams params) {
        return KafkaVersions.STORES_HAVE_FORMATS
            ? params.dslStoreFormat() != DslStoreFormat.PLAIN : params.isTimestamped();
    }

    static boolean hasTimestamps(DslWindowParams params) {
        return KafkaVersions.STORES_HAVE_FORMATS
            ? params.dslStoreFormat() != DslStoreFormat.PLAIN : params.isTimestamped();
    }
}
