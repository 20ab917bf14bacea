package foldb.streams.it;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** The sums that an input topic has, computed without Kafka Streams. */
final class Expected {
    private final Map<String, Long> sums = new HashMap<>();
    private final Map<String, Long> mayRepeat = new HashMap<>();

    /**
     * Reads the input topic.
     *
     * @param from the first offset of each partition whose records may count twice
     * @param to the offset after the last of them; absent partitions have none
     */
    static Expected of(World world, String topic, Map<Integer, Long> from, Map<Integer, Long> to)
            throws Exception {
        Expected expected = new Expected();
        try (var keys = new StringDeserializer(); var values = new LongDeserializer()) {
            for (ConsumerRecord<byte[], byte[]> record : world.topics().read(topic)) {
                String key = keys.deserialize(topic, record.key());
                long value = values.deserialize(topic, record.value());
                expected.sums.merge(key, value, Long::sum);
                if (record.offset() >= from.getOrDefault(record.partition(), Long.MAX_VALUE)
                        && record.offset() < to.getOrDefault(record.partition(), 0L)) {
                    expected.mayRepeat.merge(key, value, Long::sum);
                }
            }
        }
        return expected;
    }

    /** Returns the sum of all values. */
    long total() {
        return sums.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns by how much sums may be greater, in total. */
    long slack() {
        return mayRepeat.values().stream().mapToLong(Long::longValue).sum();
    }

    /**
     * Compares each key of a table. A sum may exceed the exact one by the records that may repeat.
     *
     * @return by how much the sums are greater, in total
     */
    long compare(Map<String, Instance.Entry> table, String what) {
        Failure.unless(table.size() == sums.size(),
            what + ": " + table.size() + " keys, expected " + sums.size());
        long over = 0;
        for (Map.Entry<String, Long> exact : sums.entrySet()) {
            Instance.Entry found = table.get(exact.getKey());
            Failure.unless(found != null, what + ": no entry of " + exact.getKey());
            long more = found.value() - exact.getValue();
            Failure.unless(more >= 0 && more <= mayRepeat.getOrDefault(exact.getKey(), 0L),
                what + ": " + exact.getKey() + " has " + found.value() + ", exact is "
                    + exact.getValue() + ", at most "
                    + mayRepeat.getOrDefault(exact.getKey(), 0L) + " may be added");
            over += more;
        }
        return over;
    }
}
