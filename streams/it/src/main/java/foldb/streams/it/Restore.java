package foldb.streams.it;

import java.util.List;
import java.util.Map;

/** An instance without a disk restores its store from the changelog. */
final class Restore implements Scenario {
    private static final int KEYS = 100_000;

    @Override
    public void run(World world) throws Exception {
        for (StoreKind kind : world.kinds()) {
            if (world.isChecked(kind)) {
                restore(world, kind);
            }
        }
    }

    private static void restore(World world, StoreKind kind) throws Exception {
        World.say("restore from empty: " + kind.word());
        String id = "restore-" + kind.word();
        String in = id + "-in";
        Topics topics = world.topics();
        Application application =
            Application.of(world, id, Topologies.SUMS, kind, false, in, id);
        topics.create(List.of(in, Topologies.topic(id, "sums")));
        Input input = new Input(KEYS, world.start(), 1, false);
        long records = world.records(300_000, 150_000);
        Map<String, Instance.Entry> before;
        try (Instance first = Instance.start(world, application, "a")) {
            first.awaitRunning(Topics.PARTITIONS);
            topics.feed(in, input, 0, records);
            topics.awaitCommitted(id, in, 60, List.of(first));
            before = first.table(world, "sums", false);
            Expected.of(world, in, Map.of(), Map.of()).compare(before, id);
            first.stop();
        }
        long logged = topics.size(id + "-sums-changelog");
        try (Instance again = Instance.start(world, application, "a")) {
            again.awaitRunning(Topics.PARTITIONS);
            String figure = String.format(
                "a clean restart restored %,d records", again.restored());
            Failure.unless(again.restored() == 0, figure);
            Failure.unless(again.table(world, "sums", false).equals(before),
                "another table after a clean restart");
            World.passed(figure + " and has the same table");
            again.stop();
        }
        long start = System.nanoTime();
        try (Instance other = Instance.start(world, application, "empty")) {
            other.awaitRunning(Topics.PARTITIONS);
            double seconds = (System.nanoTime() - start) / 1e9;
            Failure.unless(other.table(world, "sums", false).equals(before),
                "another table after a restore");
            Failure.unless(other.restored() == logged, String.format(
                "restored %,d of %,d changelog records", other.restored(), logged));
            World.passed(String.format("an empty instance restored all %,d changelog records and "
                + "has the same values and timestamps, %.1f s after its start", logged, seconds));
            other.stop();
        }
    }
}
