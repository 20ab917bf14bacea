package foldb.streams.it;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Measures {@code aggregate(sum)} and counts of tumbling windows, hopping windows and sessions on a
 * real broker, from the first record to the last commit.
 *
 * <p>Beside each stands the same application without a store, which drops what it reads: no store
 * can be faster. Where almost each record changes an entry of its own, a store must log and
 * forward each. There one more application sends each record to two topics, and does nothing else.
 */
final class BenchAggregate {
    private static final int LIMIT_SECONDS = 600;

    private final boolean small;
    private final List<Topologies> topologies;
    private final int rounds;
    private final long cacheBytes;
    private final Path directory;
    private final Path logs;
    private final BenchTable table;

    BenchAggregate(boolean small, List<Topologies> topologies, int rounds, long cacheBytes,
                   Path directory, Path logs, BenchTable table) {
        this.small = small;
        this.topologies = topologies;
        this.rounds = rounds;
        this.cacheBytes = cacheBytes;
        this.directory = directory;
        this.logs = logs;
        this.table = table;
    }

    void run() throws Exception {
        long events = small ? 100_000 : 2_000_000;
        Map<Integer, String> inputs = Map.of(1000, "events-hot", 1_000_000, "events-wide");
        try (Broker broker = Broker.start(directory.resolve("broker"), logs);
                Topics topics = new Topics(broker.address())) {
            topics.create(inputs.values());
            long start = (System.currentTimeMillis() - 3_600_000) / 60_000 * 60_000;
            World world = new World(directory, logs, broker.address(), topics, false, List.of(),
                start);
            for (Map.Entry<Integer, String> input : inputs.entrySet()) {
                topics.feed(input.getValue(), new Input(input.getKey(), start, 1, false), 0,
                    events);
            }
            for (int round = 0; round < rounds; round++) {
                for (Topologies topology : topologies) {
                    // Hopping counts of 1 M keys are the tumbling ones five times.
                    for (int keys : topology == Topologies.HOPPING
                            ? new int[] {1000} : new int[] {1000, 1_000_000}) {
                        measure(world, inputs.get(keys), topology, keys, round, events);
                    }
                }
            }
        }
    }

    private void measure(World world, String in, Topologies topology, int keys, int round,
                         long events) throws Exception {
        for (boolean cached : new boolean[] {false, true}) {
            for (boolean exactly : new boolean[] {false, true}) {
                Case one = new Case(topology, round, keys, cached, exactly, events);
                one.measureStore(world, in, StoreKind.STOCK);
                one.measureStore(world, in, StoreKind.MERGE);
                one.measureWithoutStore(world, in, Topologies.NO_STORE, "without a store");
                if (keys > 1000) {
                    one.measureWithoutStore(world, in, Topologies.SENDS, "two sends alone");
                }
            }
        }
    }

    /** One setting in one round. */
    private final class Case {
        private final Topologies topology;
        private final int round;
        private final int keys;
        private final boolean cached;
        private final boolean exactly;
        private final long events;

        Case(Topologies topology, int round, int keys, boolean cached, boolean exactly,
                long events) {
            this.topology = topology;
            this.round = round;
            this.keys = keys;
            this.cached = cached;
            this.exactly = exactly;
            this.events = events;
        }

        private String row() {
            return String.format("%s, %s keys, %s, record cache %s: thousand events/s",
                topology == Topologies.SUMS ? "aggregate" : topology.outputs().get(0) + " count",
                keys == 1000 ? "1000" : "1 M", exactly ? "100 ms exactly-once"
                    : "30 s at-least-once", cached ? "on" : "off");
        }

        void measureStore(World world, String in, StoreKind kind) throws Exception {
            String store = topology.outputs().get(0);
            String id = id(store + "-" + kind.word());
            String output = Topologies.topic(id, store);
            world.topics().create(List.of(output));
            long[] answer = drain(world, in, topology, kind, id);
            double perSecond = perSecond(answer);
            table.more(row(), kind, perSecond);
            if (kind == StoreKind.MERGE) {
                table.note(row(), "gets per event", answer[2] / (double) events);
            }
            World.say(String.format("  %s %s: %.0f thousand/s, %d keys folded, %d read, %d "
                + "merged, %d output records", row(), kind.word(), perSecond, answer[1],
                answer[2], answer[3], world.topics().size(output)));
        }

        void measureWithoutStore(World world, String in, Topologies run, String name)
                throws Exception {
            String id = id(run.name().toLowerCase(Locale.ROOT) + "-" + topology.outputs().get(0));
            world.topics().create(
                run.outputs().stream().map(output -> Topologies.topic(id, output)).toList());
            double perSecond = perSecond(drain(world, in, run, StoreKind.STOCK, id));
            table.note(row(), name, perSecond);
            World.say(String.format("  %s %s: %.0f thousand/s", row(), name, perSecond));
        }

        private String id(String name) {
            return "bench-" + name + "-" + keys + (cached ? "-cached" : "")
                + (exactly ? "-eos-" : "-alos-") + round;
        }

        private double perSecond(long[] answer) {
            return events * 1000.0 / answer[0];
        }

        /** Runs an application over the whole input, and returns what the instance drained. */
        private long[] drain(World world, String in, Topologies run, StoreKind kind, String id)
                throws Exception {
            Application application =
                Application.of(world, id, run, kind, exactly, in, id)
                    .with("commit.interval.ms", exactly ? "100" : "30000")
                    .with("statestore.cache.max.bytes", cached ? "10485760" : "0")
                    .with("session.timeout.ms", "45000")
                    .with("metric.reporters", LastValues.class.getName());
            BenchStore.cache(application.settings(), cacheBytes);
            long[] answer;
            try (Instance instance = Instance.start(world, application, "a")) {
                answer = instance.drain(events, LIMIT_SECONDS);
            }
            // The state of a finished run takes memory of the file cache only.
            Path state = application.stateDirectory(world, "a");
            if (Files.exists(state)) {
                Bench.remove(state);
            }
            return answer;
        }
    }
}
