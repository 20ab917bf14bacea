package foldb.streams.it;

import java.util.List;
import java.util.Set;

/**
 * Counts of windows on two processes, one of which is killed. The other takes its tasks over: with
 * replicas if records count exactly once, and else from the changelogs.
 */
final class Takeover {
    private static final int KEYS = 500;
    private static final int RATE = 20_000;

    private Takeover() {
    }

    /** Compares the outputs of an application with its input. */
    interface Check {
        /**
         * Compares.
         *
         * @param in the topic of the input
         * @param id the application's id, which begins the names of its outputs
         * @param crash a kill after which records may count twice, or null
         * @return what was checked
         */
        String compare(World world, String in, String id, Crash crash) throws Exception;
    }

    /**
     * Runs a topology on each kind of store that is to be checked, exactly once and at least once.
     *
     * @param word begins the application's id
     */
    static void run(World world, String word, Topologies topology, Check check)
            throws Exception {
        for (StoreKind kind : world.kinds()) {
            for (boolean exactly : new boolean[] {true, false}) {
                if (world.isChecked(kind)) {
                    run(world, word, topology, check, kind, exactly);
                }
            }
        }
    }

    private static void run(World world, String word, Topologies topology, Check check,
                            StoreKind kind, boolean exactly) throws Exception {
        World.say(topology.outputs() + ", " + Application.guarantee(exactly) + ": "
            + kind.word());
        String id = word + "-" + kind.word() + (exactly ? "-eos" : "-alos");
        String in = id + "-in";
        Topics topics = world.topics();
        Application application = Application.of(world, id, topology, kind, exactly, in, id)
            .with("num.standby.replicas", exactly ? "1" : "0");
        topics.create(List.of(in));
        topics.create(topology.outputs().stream()
            .map(output -> Topologies.topic(id, output)).toList());
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
                check.compare(world, in, id, exactly ? null : crash)));
            first.checkMerges(kind);
            application.checkStores(world, "a", kind);
            first.stop();
        }
    }
}
