package foldb.streams.it;

import java.util.HashMap;
import java.util.Map;

/** The counts that an input gives windows, and by how much a kill may make each greater. */
final class WindowCounts {
    private final Map<String, Long> exact = new HashMap<>();
    private final Map<String, Long> mayRepeat = new HashMap<>();

    /** Returns the name of a window in outputs. */
    static String name(String key, long start, long end) {
        return key + "@" + start + "-" + end;
    }

    /**
     * Adds records of a window.
     *
     * @param records how many
     * @param repeated how many of them may count twice
     */
    void add(String window, long records, long repeated) {
        exact.merge(window, records, Long::sum);
        if (repeated > 0) {
            mayRepeat.merge(window, repeated, Long::sum);
        }
    }

    /**
     * Compares what compaction would leave of an output topic.
     *
     * @param what the kind of windows
     * @return what was checked
     */
    String compare(World world, String topic, String what) throws Exception {
        Map<String, Long> found = new HashMap<>();
        Compacted.of(world, topic).forEach((key, last) -> found.put(key, last.value()));
        Failure.unless(found.keySet().equals(exact.keySet()),
            topic + ": " + Compacted.difference(exact, found));
        long over = 0;
        for (Map.Entry<String, Long> window : exact.entrySet()) {
            long count = found.get(window.getKey());
            long more = count - window.getValue();
            long most = mayRepeat.getOrDefault(window.getKey(), 0L);
            Failure.unless(more >= 0 && more <= most, topic + ": " + window.getKey() + " has "
                + count + ", exact is " + window.getValue() + ", at most " + most
                + " may be added");
            over += more;
        }
        return String.format("the counts of %,d %s are %s", exact.size(), what,
            mayRepeat.isEmpty() ? "exact" : String.format("%,d greater, of at most %,d", over,
                mayRepeat.values().stream().mapToLong(Long::longValue).sum()));
    }
}
