package foldb.streams.it;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Counts of closed windows, with the record cache on, as it is by default. They come in the order
 * of time, so that a following window drops none as late, and each closed window comes once.
 */
final class EmitOnClose implements Scenario {
    private static final int KEYS = 300;
    private static final int STEP_MILLIS = 10;

    @Override
    public void run(World world) throws Exception {
        for (StoreKind kind : world.kinds()) {
            boolean same = kind == StoreKind.MERGE && world.kinds().contains(StoreKind.FOLDB);
            if (world.brief() ? world.isChecked(kind) : !same) {
                emit(world, kind);
            }
        }
    }

    private static void emit(World world, StoreKind kind) throws Exception {
        World.say("emit on close, cached: " + kind.word());
        String id = "emit-on-close-" + kind.word();
        String in = id + "-in";
        Topics topics = world.topics();
        Application application = Application
            .of(world, id, Topologies.CLOSED, kind, true, in, id)
            .with("statestore.cache.max.bytes", String.valueOf(10 << 20));
        topics.create(List.of(in, Topologies.topic(id, "closed")));
        Input input = new Input(KEYS, world.start(), STEP_MILLIS, false);
        long records = world.records(60_000, 20_000);
        try (Instance only = Instance.start(world, application, "a")) {
            only.awaitRunning(Topics.PARTITIONS);
            topics.feed(in, input, 0, records);
            topics.awaitCommitted(id, in, 120, List.of(only));
            // A window closes when a later record comes, and its count is sent once a second.
            Thread.sleep(2000);
            topics.feed(in, input, records, records + KEYS * 10);
            topics.awaitCommitted(id, in, 120, List.of(only));
            only.stop();
        }
        check(world, in, Topologies.topic(id, "closed"));
    }

    private static void check(World world, String in, String out) throws Exception {
        Map<String, Long> expected = windows(world, in);
        Map<Integer, Long> latest = new HashMap<>();
        int late = 0;
        int closed = 0;
        try (var keys = new StringDeserializer(); var values = new LongDeserializer()) {
            for (ConsumerRecord<byte[], byte[]> record : world.topics().read(out)) {
                long time = record.timestamp();
                long before = latest.merge(record.partition(), time, Math::max);
                late += windowOf(time) < windowOf(before) ? 1 : 0;
                closed++;
                String window = keys.deserialize(out, record.key()) + "@" + windowOf(time);
                Long count = expected.remove(window);
                Failure.unless(values.deserialize(out, record.value()).equals(count),
                    window + " was sent twice or with a wrong count");
            }
        }
        Failure.unless(late == 0, late + " of " + closed + " counts came after a later window's");
        Failure.unless(closed > expected.size(), expected.size() + " windows did not close, "
            + closed + " did");
        World.passed(String.format("%,d closed windows, each with its count, in the order of time; "
            + "%,d windows stay open", closed, expected.size()));
    }

    private static Map<String, Long> windows(World world, String in) throws Exception {
        Map<String, Long> counts = new HashMap<>();
        try (var keys = new StringDeserializer()) {
            for (ConsumerRecord<byte[], byte[]> record : world.topics().read(in)) {
                counts.merge(keys.deserialize(in, record.key()) + "@"
                    + windowOf(record.timestamp()), 1L, Long::sum);
            }
        }
        return counts;
    }

    private static long windowOf(long time) {
        long length = Topologies.WINDOW.toMillis();
        return time / length * length;
    }
}
