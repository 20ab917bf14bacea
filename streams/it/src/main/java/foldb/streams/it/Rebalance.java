package foldb.streams.it;

import java.util.List;
import java.util.Map;

/** An application grows from one instance to two and shrinks back, while records arrive. */
final class Rebalance implements Scenario {
    private static final int KEYS = 20_000;
    private static final int RATE = 20_000;

    @Override
    public void run(World world) throws Exception {
        for (StoreKind kind : world.kinds()) {
            if (world.isChecked(kind)) {
                grow(world, kind);
            }
        }
    }

    private static void grow(World world, StoreKind kind) throws Exception {
        World.say("one instance, two, one: " + kind.word());
        String id = "rebalance-" + kind.word();
        String in = id + "-in";
        Topics topics = world.topics();
        Application application =
            Application.of(world, id, Topologies.SUMS, kind, false, in, id);
        topics.create(List.of(in, Topologies.topic(id, "sums")));
        Input input = new Input(KEYS, world.start(), 1, false);
        long half = world.records(100_000, 50_000);
        try (Instance first = Instance.start(world, application, "a")) {
            first.awaitRunning(Topics.PARTITIONS);
            topics.feed(in, input, 0, half);
            Thread feeder = topics.feedPaced(in, input, half, 2 * half, RATE);
            long firstBefore;
            try (Instance second = Instance.start(world, application, "b")) {
                second.awaitRunning(2);
                first.awaitRunning(2);
                feeder.join();
                topics.awaitCommitted(id, in, 60, List.of(first, second));
                Map<String, Instance.Entry> table = first.table(world, "sums", false);
                table.putAll(second.table(world, "sums", false));
                Expected.of(world, in, Map.of(), Map.of()).compare(table, id + " on two");
                World.passed(String.format("two instances have the exact sums of %,d records; the "
                    + "second one restored %,d", 2 * half, second.restored()));
                feeder = topics.feedPaced(in, input, 2 * half, 3 * half, RATE);
                firstBefore = first.restored();
                second.stop();
            }
            first.awaitRunning(Topics.PARTITIONS);
            feeder.join();
            topics.awaitCommitted(id, in, 60, List.of(first));
            Expected.of(world, in, Map.of(), Map.of())
                .compare(first.table(world, "sums", false), id + " on one");
            World.passed(String.format("one instance has the exact sums of %,d records; it "
                + "restored %,d for the tasks that came back", 3 * half,
                first.restored() - firstBefore));
            first.stop();
        }
    }
}
