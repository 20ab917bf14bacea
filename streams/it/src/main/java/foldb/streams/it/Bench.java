package foldb.streams.it;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Measures the stores of foldb beside the stock ones, in turn, and prints a table. Usage:
 * {@code Bench [--small] [--rounds N] [--cache MIB] [store] [restore] [memory] [aggregate]
 * [windows] [tumbling] [hopping] [sessions]}; the last four are rows of {@code aggregate} alone,
 * {@code windows} all that have windows.
 */
public final class Bench {
    private static final int LIMIT_SECONDS = 900;
    private static final List<Topologies> WINDOWED =
        List.of(Topologies.TUMBLING, Topologies.HOPPING, Topologies.SESSIONS);

    private final boolean small;
    private final int rounds;
    private final long cacheBytes;
    private final Path directory;
    private final Path logs;
    private final BenchTable table = new BenchTable();

    private Bench(boolean small, int rounds, long cacheMib) throws Exception {
        this.small = small;
        this.rounds = rounds;
        cacheBytes = cacheMib << 20;
        directory = Files.createTempDirectory("foldb-streams-bench");
        logs = Files.createDirectories(directory.resolve("logs"));
    }

    /**
     * Runs the benchmarks.
     *
     * @param arguments the command line
     */
    public static void main(String[] arguments) throws Exception {
        System.setProperty("it.level", "ERROR");
        boolean small = false;
        int rounds = 3;
        long cacheMib = 128;
        List<String> parts = new ArrayList<>();
        for (int at = 0; at < arguments.length; at++) {
            switch (arguments[at]) {
                case "--small" -> small = true;
                case "--rounds" -> rounds = Integer.parseInt(arguments[++at]);
                case "--cache" -> cacheMib = Long.parseLong(arguments[++at]);
                case "store", "restore", "memory", "aggregate", "windows", "tumbling", "hopping",
                        "sessions" -> parts.add(arguments[at]);
                default -> {
                    System.err.println("unknown word '" + arguments[at] + "'; parts are store, "
                        + "restore, memory, aggregate, windows, tumbling, hopping and sessions");
                    System.exit(2);
                }
            }
        }
        if (parts.isEmpty()) {
            parts.addAll(List.of("store", "restore", "memory", "aggregate"));
        }
        Children.killAtExit();
        Bench bench = new Bench(small, rounds, cacheMib);
        // One broker serves all topologies.
        Set<Topologies> topologies = new LinkedHashSet<>();
        for (String part : parts) {
            World.say(part);
            switch (part) {
                case "store" -> bench.store();
                case "restore" -> bench.restore();
                case "memory" -> bench.memory();
                case "tumbling" -> topologies.add(Topologies.TUMBLING);
                case "hopping" -> topologies.add(Topologies.HOPPING);
                case "sessions" -> topologies.add(Topologies.SESSIONS);
                case "windows" -> topologies.addAll(WINDOWED);
                default -> {
                    topologies.add(Topologies.SUMS);
                    topologies.addAll(WINDOWED);
                }
            }
        }
        if (!topologies.isEmpty()) {
            bench.aggregate(List.copyOf(topologies));
        }
        System.out.println();
        System.out.print(bench.table.markdown());
        bench.remove();
        System.exit(0);
    }

    private void store() throws Exception {
        int keys = small ? 100_000 : 1_000_000;
        Map<String, String> names = Map.of("put", "put, µs", "get", "get, µs",
            "range", "range of 100 entries, µs", "all", "scan, µs an entry");
        for (int round = 0; round < rounds; round++) {
            for (StoreKind kind : List.of(StoreKind.STOCK, StoreKind.FOLDB)) {
                measure(kind, "store", keys, cacheBytes).forEach(
                    (name, value) -> table.less("store alone: " + names.get(name), kind, value));
            }
        }
    }

    private void restore() throws Exception {
        int records = small ? 200_000 : 2_000_000;
        for (int round = 0; round < rounds; round++) {
            for (StoreKind kind : List.of(StoreKind.STOCK, StoreKind.FOLDB)) {
                measure(kind, "restore", records, cacheBytes).forEach((name, value) ->
                    table.more("restore, thousand records/s", kind, value / 1000));
            }
        }
    }

    private void memory() throws Exception {
        int stores = small ? 10 : 100;
        for (int round = 0; round < rounds; round++) {
            double bare = measure(StoreKind.STOCK, "memory", 0, cacheBytes).get("rss");
            for (StoreKind kind : List.of(StoreKind.STOCK, StoreKind.FOLDB)) {
                double used = measure(kind, "memory", stores, cacheBytes).get("rss");
                table.less("memory of " + stores + " stores, MiB", kind, used - bare);
            }
            double used = measure(StoreKind.STOCK, "memory", stores, 0).get("rss");
            World.say("  stock with RocksDB's own settings: " + (used - bare) + " MiB");
        }
    }

    /** Runs {@link BenchStore} in a process and returns its figures. */
    private Map<String, Double> measure(StoreKind kind, String mode, int size, long cache)
            throws Exception {
        Path data = Files.createTempDirectory(directory, "data");
        // A heap of fixed size is the same part of the memory in every process.
        List<String> flags = mode.equals("memory")
            ? List.of("-Xms192m", "-Xmx192m", "-XX:+AlwaysPreTouch")
            : List.of("-Xms512m", "-Xmx512m");
        Map<String, Double> figures = new LinkedHashMap<>();
        try (Child child = Child.start(logs, "bench-" + mode + "-" + kind.word(), flags, true,
                BenchStore.class.getName(), List.of(kind.word(), data.toString(), mode,
                String.valueOf(size), String.valueOf(cache)))) {
            for (String line = child.line(); line != null; line = child.line()) {
                String[] words = line.split(" ");
                figures.put(words[0], Double.valueOf(words[1]));
            }
            Failure.unless(child.await(LIMIT_SECONDS) == 0, "failed:\n" + child.tail());
        }
        World.say("  " + mode + " " + kind.word() + " " + figures);
        remove(data);
        return figures;
    }

    private void aggregate(List<Topologies> topologies) throws Exception {
        new BenchAggregate(small, topologies, rounds, cacheBytes, directory, logs, table).run();
    }

    private void remove() throws Exception {
        remove(directory);
    }

    static void remove(Path directory) throws Exception {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        }
    }
}
