package foldb.streams.it;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Windows and sessions on two instances, one of which is killed. */
final class Windows implements Scenario {
    private static final int KEYS = 500;
    private static final int RATE = 20_000;

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
        World.say("windows and sessions, " + guarantee + ": " + kind.word());
        String id = "windows-" + kind.word() + (exactly ? "-eos" : "-alos");
        String in = id + "-in";
        Topics topics = world.topics();
        Application application =
            Application.of(world, id, Topologies.WINDOWS, kind, exactly, in, id);
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
            topics.awaitCommitted(id, in, 60, List.of(first, second));
            Set<Integer> lost = second.active();
            Thread feeder = topics.feedPaced(in, input, records / 2, records, RATE);
            Crash crash = Crash.kill(world, second, id, in, lost, application);
            first.awaitRunning(Topics.PARTITIONS);
            feeder.join();
            topics.awaitCommitted(id, in, 90, List.of(first));
            World.passed(String.format("%,d records, one of two processes killed: %s", records,
                compare(world, in, id, exactly ? null : crash)));
            first.checkMerges(kind);
            application.checkStores(world, "a", kind);
            first.stop();
        }
    }

    /**
     * Compares the outputs of windows and sessions with the counts that an input has.
     *
     * @param crash a kill after which records may count twice, or null
     * @return what was checked
     */
    static String compare(World world, String in, String out, Crash crash) throws Exception {
        WindowCounts windows = new WindowCounts();
        WindowCounts sessions = new WindowCounts();
        model(world, in, crash, windows, sessions);
        return windows.compare(world, Topologies.topic(out, "windows"), "windows") + "; "
            + sessions.compare(world, Topologies.topic(out, "sessions"), "sessions");
    }

    private static void model(World world, String in, Crash crash, WindowCounts windows,
                              WindowCounts sessions) throws Exception {
        Map<String, Session> open = new HashMap<>();
        long length = Topologies.WINDOW.toMillis();
        try (var keys = new StringDeserializer()) {
            for (ConsumerRecord<byte[], byte[]> record : world.topics().read(in)) {
                String key = keys.deserialize(in, record.key());
                long time = record.timestamp();
                long repeated = crash != null && crash.mayRepeat(record) ? 1 : 0;
                long start = time / length * length;
                windows.add(WindowCounts.name(key, start, start + length), 1, repeated);
                Session session = open.get(key);
                if (session == null || time - session.end > Topologies.GAP.toMillis()) {
                    close(key, session, sessions);
                    session = new Session(time, time, 0, 0);
                }
                open.put(key, session.with(time, repeated));
            }
        }
        open.forEach((key, session) -> close(key, session, sessions));
    }

    private static void close(String key, Session session, WindowCounts sessions) {
        if (session != null) {
            sessions.add(WindowCounts.name(key, session.start, session.end), session.records,
                session.repeated);
        }
    }

    private record Session(long start, long end, long records, long repeated) {
        Session with(long time, long repeats) {
            return new Session(start, time, records + 1, repeated + repeats);
        }
    }
}
