package foldb.streams.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serdes;

/**
 * An application: a topology, its topics and its settings.
 *
 * @param id the application's id, which is the id of its consumer group too
 * @param settings what each instance is configured with, except for its state directory
 * @param heapMib the largest heap of an instance
 */
record Application(String id, Map<String, String> settings, int heapMib) {
    /** Returns an application with the settings that most scenarios share. */
    static Application of(World world, String id, Topologies topology, StoreKind kind,
                          boolean exactly, String in, String out) {
        Map<String, String> settings = new HashMap<>();
        settings.put(Instance.OWN + "topology", topology.name());
        settings.put(Instance.OWN + "in", in);
        settings.put(Instance.OWN + "out", out);
        settings.put("application.id", id);
        settings.put("bootstrap.servers", world.broker());
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.LongSerde.class.getName());
        settings.put("processing.guarantee", guarantee(exactly));
        settings.put("commit.interval.ms", exactly ? "100" : "1000");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("auto.offset.reset", "earliest");
        settings.put("session.timeout.ms", "3000");
        settings.put("heartbeat.interval.ms", "500");
        // Tasks move at once, also to instances that must restore them first.
        settings.put("acceptable.recovery.lag", "1000000000");
        if (exactly) {
            settings.put("producer.transaction.timeout.ms", "5000");
        }
        kind.configure(settings, operators(topology));
        return new Application(id, settings, 384);
    }

    /** Returns the value of {@code processing.guarantee}. */
    static String guarantee(boolean exactly) {
        return exactly ? "exactly_once_v2" : "at_least_once";
    }

    private static Map<String, String> operators(Topologies topology) {
        Map<String, String> operators = new HashMap<>(Topologies.OPERATORS);
        operators.keySet().retainAll(topology.outputs());
        return operators;
    }

    /** Checks that an instance really has stores of a kind. RocksDB writes files of options. */
    void checkStores(World world, String instance, StoreKind kind) throws IOException {
        try (Stream<Path> files = Files.walk(stateDirectory(world, instance))) {
            boolean rocks =
                files.anyMatch(path -> path.getFileName().toString().startsWith("OPTIONS-"));
            Failure.unless(rocks == (kind == StoreKind.STOCK),
                id + " does not use the stores of " + kind.word());
        }
    }

    /** Returns this application with one setting more. */
    Application with(String name, String value) {
        Map<String, String> more = new HashMap<>(settings);
        more.put(name, value);
        return new Application(id, more, heapMib);
    }

    /** Returns the directory that holds the state of an instance. */
    Path stateDirectory(World world, String instance) {
        return world.directory().resolve("state").resolve(id + "-" + instance);
    }
}
