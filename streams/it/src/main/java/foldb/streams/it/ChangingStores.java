package foldb.streams.it;

import java.util.List;
import java.util.Map;

/**
 * One instance changes its stores at every start and keeps its state directory. No table, window
 * or session loses a record. With {@code upgrade.from}, foldb refuses to start.
 */
final class ChangingStores implements Scenario {
    private static final int KEYS = 300;

    /** How a run of the instance ends. */
    private enum End {
        CLOSED, KILLED
    }

    /**
     * One run of the instance.
     *
     * @param kind its stores
     * @param upgrading whether Streams keeps its offsets as its version before did
     * @param end how it ends, after it has committed its records
     */
    private record Run(StoreKind kind, boolean upgrading, End end) {
        Application of(Application application) {
            return upgrading ? application.with("upgrade.from", "4.2") : application;
        }

        @Override
        public String toString() {
            return kind.word() + (upgrading ? " with upgrade.from" : "")
                + (end == End.KILLED ? ", killed" : ", closed");
        }
    }

    private static final List<Run> BRIEF = List.of(
        new Run(StoreKind.STOCK, true, End.CLOSED),
        new Run(StoreKind.FOLDB, false, End.CLOSED),
        new Run(StoreKind.STOCK, false, End.KILLED),
        new Run(StoreKind.FOLDB, false, End.CLOSED));

    private static final List<Run> FULL = List.of(
        new Run(StoreKind.STOCK, false, End.CLOSED),
        new Run(StoreKind.FOLDB, false, End.CLOSED),
        new Run(StoreKind.STOCK, false, End.CLOSED),
        new Run(StoreKind.FOLDB, false, End.KILLED),
        new Run(StoreKind.STOCK, true, End.CLOSED),
        new Run(StoreKind.FOLDB, false, End.CLOSED),
        new Run(StoreKind.STOCK, true, End.KILLED),
        new Run(StoreKind.FOLDB, false, End.CLOSED));

    @Override
    public void run(World world) throws Exception {
        change(world, "changing-once", true, world.brief() ? BRIEF : FULL);
        change(world, "changing-twice", false, world.brief() ? BRIEF : FULL);
        refuse(world);
    }

    private static void change(World world, String id, boolean exactly, List<Run> runs)
            throws Exception {
        World.say("changing stores, " + (exactly ? "exactly once" : "at least once"));
        String in = id + "-in";
        Topics topics = world.topics();
        topics.create(topicsOf(id));
        Input input = new Input(KEYS, world.start(), 4, false);
        long records = world.records(20_000, 10_000);
        for (int number = 0; number < runs.size(); number++) {
            Run run = runs.get(number);
            Application application = run.of(Application.of(world, id, Topologies.EVERYTHING,
                run.kind(), exactly, in, id));
            try (Instance instance = Instance.start(world, application, "a")) {
                instance.awaitRunning(Topics.PARTITIONS);
                topics.feed(in, input, number * records, (number + 1) * records);
                topics.awaitCommitted(id, in, 120, List.of(instance));
                Expected.of(world, in, Map.of(), Map.of())
                    .compare(instance.table(world, "sums", false), id + " on " + run);
                if (run.end() == End.CLOSED) {
                    instance.stop();
                } else {
                    instance.kill();
                }
            }
            String windows = Windows.compare(world, in, id, null);
            World.passed(run + ": all sums and " + windows);
        }
    }

    private static void refuse(World world) throws Exception {
        String id = "changing-refused";
        World.say("foldb with upgrade.from");
        Topics topics = world.topics();
        topics.create(topicsOf(id));
        topics.feed(id + "-in", new Input(KEYS, world.start(), 4, false), 0, 1000);
        Application application = Application.of(world, id, Topologies.EVERYTHING,
            StoreKind.FOLDB, true, id + "-in", id).with("upgrade.from", "4.2");
        try (Instance instance = Instance.start(world, application, "a")) {
            Wait.until("the instance refuses", 60, () -> instance.ask("state").equals("ERROR"));
            instance.kill();
        }
        long committed = topics.committed(id, id + "-in").values().stream()
            .mapToLong(Long::longValue).sum();
        Failure.unless(committed == 0, committed + " records were processed");
        World.passed("the instance ends in an error and has committed no record");
    }

    private static List<String> topicsOf(String id) {
        return List.of(id + "-in", Topologies.topic(id, "sums"), Topologies.topic(id, "counts"),
            Topologies.topic(id, "greatest"), Topologies.topic(id, "windows"),
            Topologies.topic(id, "sessions"));
    }
}
