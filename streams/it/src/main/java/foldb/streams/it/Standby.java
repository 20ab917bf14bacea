package foldb.streams.it;

import java.util.List;
import java.util.Map;

/** A standby replica takes over from a killed instance. */
final class Standby implements Scenario {
    private static final int KEYS = 50_000;

    @Override
    public void run(World world) throws Exception {
        for (StoreKind kind : world.kinds()) {
            if (world.isChecked(kind)) {
                replicate(world, kind);
            }
        }
    }

    private static void replicate(World world, StoreKind kind) throws Exception {
        World.say("standby replicas: " + kind.word());
        String id = "standby-" + kind.word();
        String in = id + "-in";
        Topics topics = world.topics();
        Application application =
            Application.of(world, id, Topologies.SUMS, kind, false, in, id)
                .with("num.standby.replicas", "1");
        topics.create(List.of(in, Topologies.topic(id, "sums")));
        Input input = new Input(KEYS, world.start(), 1, false);
        long records = world.records(200_000, 100_000);
        try (Instance first = Instance.start(world, application, "a");
                Instance second = Instance.start(world, application, "b")) {
            first.awaitRunning(2);
            second.awaitRunning(2);
            topics.feed(in, input, 0, records);
            topics.awaitCommitted(id, in, 60, List.of(first, second));
            Expected expected = Expected.of(world, in, Map.of(), Map.of());
            Wait.until("the replicas have all records", 60,
                () -> sum(first.table(world, "sums", true)) == expected.total()
                    && sum(second.table(world, "sums", true)) == expected.total());
            expected.compare(first.table(world, "sums", true), id + " with replicas");
            World.passed(String.format("each of two instances has %,d keys, with its replicas",
                KEYS));
            long before = first.restored();
            second.kill();
            first.awaitRunning(Topics.PARTITIONS);
            topics.feed(in, input, records, records + 1000);
            topics.awaitCommitted(id, in, 60, List.of(first));
            Expected.of(world, in, Map.of(), Map.of())
                .compare(first.table(world, "sums", false), id + " after the kill");
            long restored = first.restored() - before;
            String figure = String.format(
                "the replica took over with exact sums and restored %,d records", restored);
            // A replica that follows its changelog has little left to restore.
            Failure.unless(restored <= records / 20, figure);
            World.passed(figure);
            first.stop();
        }
    }

    private static long sum(Map<String, Instance.Entry> table) {
        return table.values().stream().mapToLong(Instance.Entry::value).sum();
    }
}
