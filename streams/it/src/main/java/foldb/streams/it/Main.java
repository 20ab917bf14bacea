package foldb.streams.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Runs scenarios on a real broker. Usage: {@code Main [--short] [--store stock|foldb|merge]...
 * [--keep] [SCENARIO]...}; without names, all scenarios and all kinds of stores.
 */
public final class Main {
    private static final Map<String, Scenario> SCENARIOS = scenarios();
    private static final long LIMIT_MIB = 1536;

    private Main() {
    }

    private static Map<String, Scenario> scenarios() {
        Map<String, Scenario> all = new LinkedHashMap<>();
        all.put("sums", new Sums());
        all.put("queries", new InteractiveQueries());
        all.put("standby", new Standby());
        all.put("rebalance", new Rebalance());
        all.put("windows", new Windows());
        all.put("window-merges", new WindowMerges());
        all.put("restore", new Restore());
        all.put("same-output", new SameOutput());
        all.put("changing-stores", new ChangingStores());
        all.put("emit-on-close", new EmitOnClose());
        return all;
    }

    /**
     * Runs the scenarios and exits with status 1 if one fails.
     *
     * @param arguments the command line
     */
    public static void main(String[] arguments) throws Exception {
        // The log of this process is what it prints.
        System.setProperty("it.level", "ERROR");
        boolean brief = false;
        boolean keep = false;
        Set<StoreKind> kinds = new TreeSet<>();
        List<String> names = new ArrayList<>();
        for (int at = 0; at < arguments.length; at++) {
            switch (arguments[at]) {
                case "--short" -> brief = true;
                case "--keep" -> keep = true;
                case "--store" -> kinds.add(StoreKind.of(arguments[++at]));
                default -> names.add(arguments[at]);
            }
        }
        for (String name : names) {
            if (!SCENARIOS.containsKey(name)) {
                System.err.println("no scenario '" + name + "'; there are "
                    + SCENARIOS.keySet());
                System.exit(2);
            }
        }
        if (kinds.isEmpty()) {
            kinds.addAll(List.of(StoreKind.values()));
        }
        Children.killAtExit();
        boolean passed = run(names.isEmpty() ? List.copyOf(SCENARIOS.keySet()) : names,
            brief, keep, List.copyOf(kinds));
        System.exit(passed ? 0 : 1);
    }

    private static boolean run(List<String> names, boolean brief, boolean keep,
                               List<StoreKind> kinds) throws Exception {
        Path directory = Files.createTempDirectory("foldb-streams-it");
        Path logs = Files.createDirectories(directory.resolve("logs"));
        List<String> failed = new ArrayList<>();
        World.say("starting a broker");
        try (Broker broker = Broker.start(directory.resolve("broker"), logs);
                Topics topics = new Topics(broker.address())) {
            World.say("a broker listens at " + broker.address() + "; files are in " + directory);
            // An hour ago: no record is in the future, and none is old enough to be dropped.
            long start = (System.currentTimeMillis() - 3_600_000) / 60_000 * 60_000;
            World world = new World(directory, logs, broker.address(), topics, brief, kinds,
                start);
            for (String name : names) {
                World.say(name);
                try {
                    SCENARIOS.get(name).run(world);
                } catch (Exception e) {
                    failed.add(name);
                    World.say("  FAILED: " + e);
                    e.printStackTrace(System.out);
                }
                if (failed.contains(name)) {
                    showLogs(logs);
                }
                endInstances();
            }
        }
        long peak = Children.peakMib();
        World.say("all processes together used at most " + peak + " MiB");
        if (peak > LIMIT_MIB) {
            failed.add("memory");
        }
        if (!keep && failed.isEmpty()) {
            remove(directory);
        }
        World.say(failed.isEmpty() ? "passed: " + names : "FAILED: " + failed);
        return failed.isEmpty();
    }

    /** Ends what a failed scenario left behind. */
    private static void endInstances() {
        for (Child child : Children.live()) {
            if (!child.name().equals("broker")) {
                child.kill();
            }
        }
    }

    private static void showLogs(Path logs) throws IOException {
        try (Stream<Path> files = Files.list(logs)) {
            // The newest logs are those of the scenario that failed.
            List<Path> newest = files.sorted(Comparator.comparingLong(Main::changed).reversed())
                .limit(4).toList();
            for (Path log : newest) {
                List<String> lines = Files.readAllLines(log);
                System.out.println("---- the end of " + log);
                lines.subList(Math.max(0, lines.size() - 40), lines.size())
                    .forEach(System.out::println);
            }
        }
    }

    private static long changed(Path path) {
        return path.toFile().lastModified();
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
