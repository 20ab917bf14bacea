package foldb.streams.it;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** What compaction would leave of a topic: the last record of each key. */
final class Compacted {
    private static final int SHOWN = 5;

    private Compacted() {
    }

    /** Returns the last value of each key with its timestamp. Deleted keys are absent. */
    static Map<String, Instance.Entry> of(World world, String topic) throws Exception {
        Map<String, Instance.Entry> last = new HashMap<>();
        try (var keys = new StringDeserializer(); var values = new LongDeserializer()) {
            for (ConsumerRecord<byte[], byte[]> record : world.topics().read(topic)) {
                String key = keys.deserialize(topic, record.key());
                Long value = values.deserialize(topic, record.value());
                if (value == null) {
                    last.remove(key);
                } else {
                    last.put(key, new Instance.Entry(value, record.timestamp()));
                }
            }
        }
        return last;
    }

    /** Describes how two maps differ. */
    static <V> String difference(Map<String, V> expected, Map<String, V> found) {
        Set<String> keys = new TreeSet<>(expected.keySet());
        keys.addAll(found.keySet());
        keys.removeIf(key -> Objects.equals(expected.get(key), found.get(key)));
        StringBuilder text = new StringBuilder();
        text.append(expected.size()).append(" entries expected, ").append(found.size())
            .append(" found, ").append(keys.size()).append(" keys differ:");
        keys.stream().limit(SHOWN).forEach(key -> text.append(" [").append(key).append(": ")
            .append(expected.get(key)).append(" expected, ").append(found.get(key))
            .append(" found]"));
        return text.toString();
    }
}
