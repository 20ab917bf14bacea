package foldb.streams.it;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** Sums over four partitions while processes are killed. */
final class Sums implements Scenario {
    private static final int KEYS = 20_000;
    private static final int RATE = 40_000;

    @Override
    public void run(World world) throws Exception {
        for (StoreKind kind : world.kinds()) {
            for (boolean exactly : new boolean[] {true, false}) {
                // The short form checks each rule once, and takes figures of all kinds.
                if (world.isChecked(kind) && (exactly || !world.brief())) {
                    takeover(world, kind, exactly);
                }
                if (!world.brief() || !exactly) {
                    restart(world, kind, exactly);
                }
            }
        }
    }

    /** Kills one of two processes in the middle. The other one takes its tasks over. */
    private static void takeover(World world, StoreKind kind, boolean exactly) throws Exception {
        World.say("takeover, " + kind.word() + ", " + Application.guarantee(exactly));
        String id = "takeover-" + kind.word() + (exactly ? "-eos" : "-alos");
        String in = id + "-in";
        Application application =
            Application.of(world, id, Topologies.SUMS, kind, exactly, in, id);
        Topics topics = world.topics();
        topics.create(List.of(in, Topologies.topic(id, "sums")));
        Input input = new Input(KEYS, world.start(), 1, false);
        long records = world.records(400_000, 200_000);
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
            double seconds = (System.nanoTime() - crash.at()) / 1e9;
            feeder.join();
            topics.awaitCommitted(id, in, 90, List.of(first));
            Expected expected = exactly ? Expected.of(world, in, Map.of(), Map.of())
                : Expected.of(world, in, crash.committed(), crash.ends());
            long over = expected.compare(first.table(world, "sums", false), id);
            World.passed(String.format("%,d records, one of two processes killed: the sums are "
                + "%s; the other process took over after %.1f s and restored %,d records",
                records, over(exactly, over, expected), seconds, first.restored()));
            first.checkMerges(kind);
            application.checkStores(world, "a", kind);
            first.stop();
        }
    }

    private static String over(boolean exactly, long over, Expected expected) {
        return exactly ? String.format("exact, %,d in total", expected.total())
            : String.format("%,d in total and %,d greater, of at most %,d since the last commit",
                expected.total() + over, over, expected.slack());
    }

    /** Kills the only process in the middle and restarts it on its disk. */
    private static void restart(World world, StoreKind kind, boolean exactly) throws Exception {
        World.say("restart, " + kind.word() + ", " + Application.guarantee(exactly));
        String id = "restart-" + kind.word() + (exactly ? "-eos" : "-alos");
        String in = id + "-in";
        Application application =
            Application.of(world, id, Topologies.SUMS, kind, exactly, in, id);
        Topics topics = world.topics();
        topics.create(List.of(in, Topologies.topic(id, "sums")));
        Input input = new Input(KEYS, world.start(), 1, false);
        long records = world.records(400_000, 200_000);
        Crash crash;
        Thread feeder;
        try (Instance only = Instance.start(world, application, "a")) {
            only.awaitRunning(Topics.PARTITIONS);
            topics.feed(in, input, 0, records / 2);
            topics.awaitCommitted(id, in, 60, List.of(only));
            feeder = topics.feedPaced(in, input, records / 2, records, RATE);
            crash = Crash.kill(world, only, id, in, Set.of(0, 1, 2, 3), application);
        }
        feeder.join();
        try (Instance again = Instance.start(world, application, "a")) {
            again.awaitRunning(Topics.PARTITIONS);
            topics.awaitCommitted(id, in, 90, List.of(again));
            Expected expected = exactly ? Expected.of(world, in, Map.of(), Map.of())
                : Expected.of(world, in, crash.committed(), crash.ends());
            long over = expected.compare(again.table(world, "sums", false), id);
            long restored = again.restored();
            World.passed(String.format("%,d records, the only process killed and restarted: the "
                    + "sums are %s", records, over(exactly, over, expected)));
            String figure = String.format("%s restored %,d changelog records; %,d input records "
                + "came since the last commit", kind.word(), restored, crash.uncommitted());
            if (kind != StoreKind.STOCK && !exactly) {
                Failure.unless(restored <= crash.uncommitted(), figure);
                World.passed(figure);
            } else {
                World.say("  figure: " + figure);
            }
            again.checkMerges(kind);
            application.checkStores(world, "a", kind);
            again.stop();
        }
    }
}
