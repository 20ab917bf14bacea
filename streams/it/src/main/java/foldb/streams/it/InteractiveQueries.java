package foldb.streams.it;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Queries of two running instances: each kind of store gives the answers of the stock one. */
final class InteractiveQueries implements Scenario {
    private static final int KEYS = 1000;

    @Override
    public void run(World world) throws Exception {
        String in = "queries-in";
        Topics topics = world.topics();
        topics.create(List.of(in));
        long records = world.records(60_000, 30_000);
        Input input = new Input(KEYS, world.start(), 5, false);
        topics.feed(in, input, 0, records);
        Map<String, String> first = null;
        for (StoreKind kind : StoreKind.values()) {
            boolean asked = world.kinds().contains(kind) && world.isChecked(kind);
            if (kind != StoreKind.STOCK && !asked) {
                continue;
            }
            World.say("interactive queries: " + kind.word());
            Map<String, String> answers = answers(world, kind, in, records, input);
            if (first == null) {
                first = answers;
            } else {
                Failure.unless(answers.equals(first), Compacted.difference(first, answers));
            }
            World.passed(answers.size() + " answers of two instances"
                + (answers == first ? "" : " are those of the stock stores"));
        }
    }

    private static Map<String, String> answers(World world, StoreKind kind, String in,
                                               long records, Input input) throws Exception {
        String id = "queries-" + kind.word();
        Topics topics = world.topics();
        topics.create(Topologies.EVERYTHING.outputs().stream()
            .map(store -> Topologies.topic(id, store)).toList());
        Application application =
            Application.of(world, id, Topologies.EVERYTHING, kind, false, in, id);
        try (Instance one = Instance.start(world,
                application.with("application.server", "localhost:1"), "a");
                Instance two = Instance.start(world,
                    application.with("application.server", "localhost:2"), "b")) {
            one.awaitRunning(2);
            two.awaitRunning(2);
            topics.awaitCommitted(id, in, 120, List.of(one, two));
            Map<String, Instance.Entry> sums = one.table(world, "sums", false);
            sums.putAll(two.table(world, "sums", false));
            Expected.of(world, in, Map.of(), Map.of()).compare(sums, id);
            for (int key = 0; key < KEYS; key += 97) {
                routed(one, two, Input.key(key), sums.get(Input.key(key)).value());
            }
            Map<String, String> answers = new TreeMap<>();
            long until = input.timestamp(records);
            for (int partition = 0; partition < Topics.PARTITIONS; partition++) {
                Instance owner = one.active().contains(partition) ? one : two;
                for (String store : Topologies.EVERYTHING.outputs()) {
                    for (int key = 3; key < KEYS; key += 201) {
                        for (String query : Queries.of(store, Input.key(key),
                                Input.key(key + 150), until - 60_000, until)) {
                            String full = "query " + store + " " + partition + " " + query;
                            answers.put(full, owner.ask(full));
                        }
                    }
                }
            }
            one.stop();
            two.stop();
            return answers;
        }
    }

    /** Asks the instance that has a key, which the other instance names too. */
    private static void routed(Instance one, Instance two, String key, long value) {
        String host = one.ask("host sums " + key);
        Failure.unless(host.equals(two.ask("host sums " + key)),
            "the instances name different hosts of " + key);
        String[] parts = host.split(" ");
        Instance owner = parts[0].equals("1") ? one : two;
        String answer = owner.ask("query sums " + parts[1] + " get " + key);
        Failure.unless(answer.equals(String.valueOf(value)),
            key + " is " + answer + ", expected " + value);
    }
}
