package foldb.streams.it;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.kstream.TimeWindows;

/** Tumbling and hopping counts, which merge, on two processes, one of which is killed. */
final class WindowMerges implements Scenario {
    private static final int KEYS = 500;
    private static final int RATE = 20_000;
    private static final Map<String, TimeWindows> STORES =
        Map.of("tumbling", Topologies.MINUTES, "hopping", Topologies.OVERLAPPING);

    @Override
    public void run(World world) throws Exception {
        for (StoreKind kind : world.kinds()) {
            for (boolean exactly : new boolean[] {true, false}) {
                if (world.isChecked(kind)) {
                    count(world, kind, exactly);
                }
            }
        }
    }

    private static void count(World world, StoreKind kind, boolean exactly) throws Exception {
        String guarantee = exactly ? "exactly_once_v2" : "at_least_once";
        World.say("tumbling and hopping windows, " + guarantee + ": " + kind.word());
        String id = "minutes-" + kind.word() + (exactly ? "-eos" : "-alos");
        String in = id + "-in";
        Topics topics = world.topics();
        Application application =
            Application.of(world, id, Topologies.MINUTES_TWICE, kind, exactly, in, id);
        topics.create(List.of(in, Topologies.topic(id, "tumbling"),
            Topologies.topic(id, "hopping")));
        Input input = new Input(KEYS, world.start(), 4, false);
        long records = world.records(150_000, 60_000);
        try (Instance first = Instance.start(world, application, "a");
                Instance second = Instance.start(world, application, "b")) {
            first.awaitRunning(2);
            second.awaitRunning(2);
            topics.feed(in, input, 0, records / 2);
            topics.awaitCommitted(id, in, 60, List.of(first, second));
            Set<Integer> lost = second.active();
            Thread feeder = topics.feedPaced(in, input, records / 2, records, RATE);
            Crash crash = Crash.kill(world, second, id, in, lost, application);
            first.awaitRunning(Topics.PARTITIONS);
            feeder.join();
            topics.awaitCommitted(id, in, 90, List.of(first));
            for (String store : List.of("tumbling", "hopping")) {
                World.passed(String.format("%,d records, one of two processes killed: %s",
                    records, compare(world, in, id, store, exactly ? null : crash)));
            }
            first.checkMerges(kind);
            application.checkStores(world, "a", kind);
            first.stop();
        }
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
