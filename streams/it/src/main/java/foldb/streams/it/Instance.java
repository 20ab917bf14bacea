package foldb.streams.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/** An instance of an application: the other end of {@link App}. */
final class Instance implements AutoCloseable {
    /** The prefix of settings that are not for Kafka Streams. */
    static final String OWN = "it.";
    private static final int ANSWER_SECONDS = 90;
    private static final int START_SECONDS = 90;

    private final Child child;

    private Instance(Child child) {
        this.child = child;
    }

    /**
     * Starts an instance.
     *
     * @param name names the instance and its state directory; a second start finds the state
     */
    static Instance start(World world, Application application, String name) throws Exception {
        Map<String, String> settings = new HashMap<>(application.settings());
        settings.put("state.dir", application.stateDirectory(world, name).toString());
        Properties properties = new Properties();
        properties.putAll(settings);
        String full = application.id() + "-" + name;
        Path file = world.directory().resolve(full + ".properties");
        try (var writer = Files.newBufferedWriter(file)) {
            properties.store(writer, null);
        }
        List<String> flags = List.of("-Xmx" + application.heapMib() + "m");
        return new Instance(Child.start(world.logs(), full, flags, true, App.class.getName(),
            List.of(file.toString())));
    }

    /** Sends a command and returns its answer. */
    String ask(String command) {
        return ask(command, ANSWER_SECONDS);
    }

    /** Sends a command and returns its answer, which may take some seconds. */
    String ask(String command, int seconds) {
        try {
            child.say(command);
            long end = System.nanoTime() + seconds * 1_000_000_000L;
            while (!child.hasOutput()) {
                checkAlive();
                if (System.nanoTime() > end) {
                    throw new Failure(child.name() + " did not answer '" + command + "'");
                }
                Thread.sleep(2);
            }
            String answer = child.line();
            if (answer == null || !answer.startsWith("ok ")) {
                throw new Failure(child.name() + " answered '" + command + "' with " + answer);
            }
            return answer.substring(3);
        } catch (IOException e) {
            throw new Failure(child.name() + " cannot be asked", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", e);
        }
    }

    void checkAlive() {
        Failure.unless(child.isAlive(), child.name() + " ended");
    }

    /** Waits until the instance is running with a number of active tasks. */
    void awaitRunning(int tasks) throws Exception {
        Wait.until(child.name() + " runs " + tasks + " tasks", START_SECONDS, () -> {
            String state = ask("state");
            Failure.unless(!state.equals("ERROR"), child.name() + " is in state ERROR");
            return state.equals("RUNNING") && active().size() == tasks;
        });
    }

    /** Returns the partitions of the active tasks. */
    Set<Integer> active() {
        Set<Integer> partitions = new TreeSet<>();
        Arrays.stream(ask("active").split(",")).filter(word -> !word.isEmpty())
            .forEach(word -> partitions.add(Integer.valueOf(word)));
        return partitions;
    }

    /** Returns how many records this instance has restored from changelogs. */
    long restored() {
        return Long.parseLong(ask("restored"));
    }

    /** Returns how many input records this instance has processed. */
    long processed() {
        return (long) Double.parseDouble(ask("metric process-total"));
    }

    /** Checks that records became merges exactly if the stores merge. */
    void checkMerges(StoreKind kind) {
        long merges = (long) Double.parseDouble(ask("metric merge-total"));
        Failure.unless((merges > 0) == (kind == StoreKind.MERGE),
            child.name() + " merged " + merges + " records");
    }

    /** Returns the entries of a table that are active here: value and timestamp of each key. */
    Map<String, Entry> table(World world, String store, boolean stale) throws IOException {
        Path file = world.directory().resolve(child.name() + "-" + store + ".dump");
        ask("dump " + store + " " + file + (stale ? " stale" : ""));
        Map<String, Entry> entries = new HashMap<>();
        for (String line : Files.readAllLines(file)) {
            String[] parts = line.split("\t");
            Entry entry = new Entry(Long.parseLong(parts[1]), Long.parseLong(parts[2]));
            Failure.unless(entries.put(parts[0], entry) == null, "two entries of " + parts[0]);
        }
        return entries;
    }

    /**
     * Processes a number of records and ends. Returns the microseconds from the first record to
     * the end of the close, keys folded, keys read and operands merged.
     */
    long[] drain(long records, int seconds) throws Exception {
        String answer = ask("drain " + records, seconds);
        Failure.unless(child.await(60) == 0, child.name() + " ended with an error");
        return Arrays.stream(answer.split(" ")).mapToLong(Long::parseLong).toArray();
    }

    /** Closes the application and waits for the end of the process. */
    void stop() throws Exception {
        ask("close");
        Failure.unless(child.await(30) == 0, child.name() + " ended with an error");
    }

    /** Kills the process, like {@code kill -9}. */
    void kill() {
        child.kill();
    }

    long residentMib() {
        return child.residentMib();
    }

    @Override
    public void close() {
        child.kill();
    }

    /** A value of a table with its timestamp. */
    record Entry(long value, long timestamp) {
    }
}
