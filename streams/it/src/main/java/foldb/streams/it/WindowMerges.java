package foldb.streams.it;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.kstream.TimeWindows;

/** Tumbling and hopping counts, which merge, on two processes, one of which is killed. */
final class WindowMerges implements Scenario {
    private static final Map<String, TimeWindows> STORES =
        Map.of("tumbling", Topologies.MINUTES, "hopping", Topologies.OVERLAPPING);

    @Override
    public void run(World world) throws Exception {
        Takeover.run(world, "minutes", Topologies.MINUTES_TWICE, (broker, in, id, crash) ->
            compare(broker, in, id, "tumbling", crash) + "; "
                + compare(broker, in, id, "hopping", crash));
    }

    /**
     * Compares the output of a store with the counts that the input has.
     *
     * @param crash a kill after which records may count twice, or null
     * @return what was checked
     */
    private static String compare(World world, String in, String id, String store, Crash crash)
            throws Exception {
        WindowCounts counts = new WindowCounts();
        try (var keys = new StringDeserializer()) {
            for (ConsumerRecord<byte[], byte[]> record : world.topics().read(in)) {
                String key = keys.deserialize(in, record.key());
                long repeated = crash != null && crash.mayRepeat(record) ? 1 : 0;
                STORES.get(store).windowsFor(record.timestamp()).forEach((start, window) ->
                    counts.add(WindowCounts.name(key, window.start(), window.end()), 1,
                        repeated));
            }
        }
        return counts.compare(world, Topologies.topic(id, store), store + " windows");
    }
}
