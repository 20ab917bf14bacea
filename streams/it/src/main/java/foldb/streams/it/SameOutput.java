package foldb.streams.it;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The same topologies on every kind of store: the compacted outputs are the same. */
final class SameOutput implements Scenario {
    @Override
    public void run(World world) throws Exception {
        List<StoreKind> kinds = Stream.concat(Stream.of(StoreKind.STOCK),
            world.kinds().stream().filter(world::isChecked)).distinct().toList();
        // Late records show expiry. A join of late records depends on how its two inputs mix.
        if (world.brief()) {
            compare(world, Topologies.EVERYTHING, kinds, new Input(500, world.start(), 8, true));
        } else {
            compare(world, Topologies.TABLES, kinds, new Input(5000, world.start(), 2, true));
            compare(world, Topologies.WINDOWS, kinds, new Input(300, world.start(), 10, true));
        }
        compare(world, Topologies.JOIN, kinds, new Input(2000, world.start(), 2, false));
    }

    private static void compare(World world, Topologies topology, List<StoreKind> kinds,
                                Input input) throws Exception {
        Topics topics = world.topics();
        String in = "same-" + topology + "-in";
        topics.create(List.of(in));
        long records = world.records(100_000, 40_000);
        topics.feed(in, input, 0, records);
        Map<String, Map<String, Instance.Entry>> stock = new HashMap<>();
        for (StoreKind kind : kinds) {
            boolean merges = topology.merges();
            if (kind == StoreKind.MERGE && !merges && kinds.contains(StoreKind.FOLDB)) {
                continue;
            }
            String out = "same-" + topology + "-" + kind.word();
            World.say(topology + " on " + kind.word());
            topics.create(
                topology.outputs().stream().map(store -> Topologies.topic(out, store)).toList());
            Application application =
                Application.of(world, out, topology, kind, true, in, out);
            try (Instance only = Instance.start(world, application, "a")) {
                topics.awaitCommitted(out, in, 120, List.of(only));
                only.checkMerges(merges ? kind : StoreKind.FOLDB);
                application.checkStores(world, "a", kind);
                only.stop();
            }
            for (String store : topology.outputs()) {
                String topic = Topologies.topic(out, store);
                Map<String, Instance.Entry> last = Compacted.of(world, topic);
                Failure.unless(!last.isEmpty(), topic + " is empty");
                Map<String, Instance.Entry> expected = stock.putIfAbsent(store, last);
                if (expected != null) {
                    Failure.unless(last.equals(expected),
                        topic + ": " + Compacted.difference(expected, last));
                    World.passed(String.format("%s: the last records of %,d keys, with values and "
                        + "timestamps, are those of the stock store (%,d records, stock %,d)",
                        store, last.size(), topics.size(topic), topics.size(
                            Topologies.topic("same-" + topology + "-stock", store))));
                }
            }
        }
    }
}
