package foldb.streams.it;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Windows and sessions on two instances, one of which is killed. */
final class Windows implements Scenario {
    private static final int KEYS = 500;
    private static final int RATE = 20_000;

    @Override
    public void run(World world) throws Exception {
        for (StoreKind kind : world.kinds()) {
            if (world.isChecked(kind)) {
                count(world, kind);
            }
        }
    }

    private static void count(World world, StoreKind kind) throws Exception {
        World.say("windows and sessions, exactly_once_v2: " + kind.word());
        String id = "windows-" + kind.word();
        String in = id + "-in";
        Topics topics = world.topics();
        Application application =
            Application.of(world, id, Topologies.WINDOWS, kind, true, in, id);
        topics.create(List.of(in, Topologies.topic(id, "windows"),
            Topologies.topic(id, "sessions")));
        // 500 keys with a record each 4 ms: about 2 s between the records of one key.
        Input input = new Input(KEYS, world.start(), 4, false);
        long records = world.records(150_000, 60_000);
        try (Instance first = Instance.start(world, application, "a");
                Instance second = Instance.start(world, application, "b")) {
            first.awaitRunning(2);
            second.awaitRunning(2);
            topics.feed(in, input, 0, records / 2);
            Thread feeder = topics.feedPaced(in, input, records / 2, records, RATE);
            Thread.sleep(1000);
            second.kill();
            first.awaitRunning(Topics.PARTITIONS);
            feeder.join();
            topics.awaitCommitted(id, in, 90, List.of(first));
            first.checkMerges(kind);
            application.checkStores(world, "a", kind);
            first.stop();
        }
        World.passed(String.format("%,d records, one of two processes killed: %s", records,
            compare(world, in, id)));
    }

    /**
     * Compares the outputs of windows and sessions with the counts that an input has.
     *
     * @return what was checked
     */
    static String compare(World world, String in, String out) throws Exception {
        Map<String, Long> windows = new HashMap<>();
        Map<String, Long> sessions = new HashMap<>();
        model(world, in, windows, sessions);
        compareTopic(world, Topologies.topic(out, "windows"), windows);
        compareTopic(world, Topologies.topic(out, "sessions"), sessions);
        return String.format("the counts of %,d windows and %,d sessions are exact",
            windows.size(), sessions.size());
    }

    private static void model(World world, String in, Map<String, Long> windows,
                              Map<String, Long> sessions) throws Exception {
        Map<String, Session> open = new HashMap<>();
        long length = Topologies.WINDOW.toMillis();
        try (var keys = new StringDeserializer()) {
            for (ConsumerRecord<byte[], byte[]> record : world.topics().read(in)) {
                String key = keys.deserialize(in, record.key());
                long time = record.timestamp();
                long start = time / length * length;
                windows.merge(key + "@" + start + "-" + (start + length), 1L, Long::sum);
                Session session = open.get(key);
                if (session == null || time - session.end > Topologies.GAP.toMillis()) {
                    close(key, session, sessions);
                    open.put(key, new Session(time, time, 1));
                } else {
                    open.put(key, new Session(session.start, time, session.count + 1));
                }
            }
        }
        open.forEach((key, session) -> close(key, session, sessions));
    }

    private static void close(String key, Session session, Map<String, Long> sessions) {
        if (session != null) {
            sessions.put(key + "@" + session.start + "-" + session.end, session.count);
        }
    }

    private record Session(long start, long end, long count) {
    }

    private static void compareTopic(World world, String topic, Map<String, Long> expected)
            throws Exception {
        Map<String, Long> found = new HashMap<>();
        Compacted.of(world, topic).forEach((key, last) -> found.put(key, last.value()));
        Failure.unless(found.equals(expected),
            topic + ": " + Compacted.difference(expected, found));
    }
}
