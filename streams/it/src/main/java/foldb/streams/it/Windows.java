package foldb.streams.it;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Windows and sessions on two instances, one of which is killed. */
final class Windows implements Scenario {
    @Override
    public void run(World world) throws Exception {
        Takeover.run(world, "windows", Topologies.KEPT_WINDOWS, Windows::compare);
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
