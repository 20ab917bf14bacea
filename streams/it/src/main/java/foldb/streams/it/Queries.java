package foldb.streams.it;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyQueryMetadata;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.query.StateQueryRequest;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreType;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.ReadOnlySessionStore;
import org.apache.kafka.streams.state.ReadOnlyWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;

/** Interactive queries of the stores of this process. An answer is one line. */
final class Queries {
    /** Entries that an answer shows. Of the others it has the number and a hash. */
    private static final int SHOWN = 20;

    private final KafkaStreams streams;

    Queries(KafkaStreams streams) {
        this.streams = streams;
    }

    /** Writes a store's entries to a file, one a line, and returns their number. */
    String dump(String store, Path file, boolean stale) throws Exception {
        var type = QueryableStoreTypes.<String, Long>timestampedKeyValueStore();
        var asked = StoreQueryParameters.fromNameAndType(store, type);
        if (stale) {
            asked = asked.enableStaleStores();
        }
        long count = 0;
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file));
                KeyValueIterator<String, ValueAndTimestamp<Long>> all =
                    streams.store(asked).all()) {
            while (all.hasNext()) {
                KeyValue<String, ValueAndTimestamp<Long>> entry = all.next();
                out.println(entry.key + "\t" + entry.value.value() + "\t"
                    + entry.value.timestamp());
                count++;
            }
        }
        return String.valueOf(count);
    }

    /** Returns the address of the instance that has a key of a store. */
    String host(String store, String key) {
        KeyQueryMetadata metadata =
            streams.queryMetadataForKey(store, key, new StringSerializer());
        return metadata.activeHost().port() + " " + metadata.partition();
    }

    /** Answers {@code query STORE PARTITION KIND ARGUMENTS}. */
    String answer(String[] words) {
        String store = words[1];
        int partition = Integer.parseInt(words[2]);
        return switch (words[3]) {
            case "get" -> String.valueOf(table(store, partition).get(words[4]));
            case "range" -> shown(table(store, partition).range(words[4], words[5]));
            case "reverse" -> shown(table(store, partition).reverseRange(words[4], words[5]));
            case "prefix" ->
                shown(table(store, partition).prefixScan(words[4], new StringSerializer()));
            case "all" -> shown(table(store, partition).all());
            case "back" -> shown(table(store, partition).reverseAll());
            case "key" -> result(store, partition, KeyQuery.<String, Long>withKey(words[4]));
            case "between" -> {
                RangeQuery<String, Long> range = RangeQuery.withRange(words[4], words[5]);
                yield result(store, partition, range);
            }
            case "window" -> {
                var found = windows(store, partition).fetch(words[4], at(words[5]), at(words[6]));
                yield shown(found);
            }
            case "windows" -> {
                var found = windows(store, partition).fetchAll(at(words[4]), at(words[5]));
                yield shown(found);
            }
            case "windows-back" -> {
                var found = windows(store, partition).backwardFetchAll(at(words[4]), at(words[5]));
                yield shown(found);
            }
            case "session" -> shown(sessions(store, partition).fetch(words[4]));
            case "sessions" -> shown(sessions(store, partition).fetch(words[4], words[5]));
            case "sessions-back" ->
                shown(sessions(store, partition).backwardFetch(words[4], words[5]));
            default -> throw new IllegalArgumentException("unknown query " + words[3]);
        };
    }

    private static Instant at(String millis) {
        return Instant.ofEpochMilli(Long.parseLong(millis));
    }

    private ReadOnlyKeyValueStore<String, Long> table(String store, int partition) {
        return store(store, partition, QueryableStoreTypes.keyValueStore());
    }

    private ReadOnlyWindowStore<String, Long> windows(String store, int partition) {
        return store(store, partition, QueryableStoreTypes.windowStore());
    }

    private ReadOnlySessionStore<String, Long> sessions(String store, int partition) {
        return store(store, partition, QueryableStoreTypes.sessionStore());
    }

    private <T> T store(String store, int partition, QueryableStoreType<T> type) {
        return streams.store(
            StoreQueryParameters.fromNameAndType(store, type).withPartition(partition));
    }

    private <R> String result(String store, int partition, Query<R> query) {
        QueryResult<R> result = streams.query(StateQueryRequest.inStore(store).withQuery(query)
            .withPartitions(Set.of(partition))).getPartitionResults().get(partition);
        if (result.isFailure()) {
            return result.getFailureReason() + ": " + result.getFailureMessage();
        }
        R answer = result.getResult();
        if (answer instanceof KeyValueIterator<?, ?> entries) {
            return shown(entries);
        }
        return String.valueOf(answer);
    }

    /** Returns the first entries, and the number and a hash of all in their order. */
    private static <K, V> String shown(KeyValueIterator<K, V> entries) {
        StringJoiner shown = new StringJoiner(";");
        long count = 0;
        long hash = 0;
        try (entries) {
            while (entries.hasNext()) {
                KeyValue<K, V> entry = entries.next();
                String text = text(entry.key) + "=" + entry.value;
                hash = hash * 31 + text.hashCode();
                if (count < SHOWN) {
                    shown.add(text);
                }
                count++;
            }
        }
        return count + " entries, hash " + Long.toHexString(hash) + ": " + shown;
    }

    private static String text(Object key) {
        if (key instanceof Windowed<?> windowed) {
            return windowed.key() + "@" + windowed.window().start() + "-"
                + windowed.window().end();
        }
        return String.valueOf(key);
    }

    /** Returns the kinds of queries of a store, for the scenario. */
    static List<String> of(String store, String key, String to, long from, long until) {
        return switch (store) {
            case "windows" -> List.of("window " + key + " " + from + " " + until,
                "windows " + from + " " + until, "windows-back " + from + " " + until);
            case "sessions" -> List.of("session " + key,
                "sessions " + key + " " + to, "sessions-back " + key + " " + to);
            default -> List.of("get " + key, "get absent", "range " + key + " " + to,
                "reverse " + key + " " + to, "prefix " + key.substring(0, key.length() - 2),
                "all", "back", "key " + key, "key absent", "between " + key + " " + to);
        };
    }
}
