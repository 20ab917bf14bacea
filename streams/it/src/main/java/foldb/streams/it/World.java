package foldb.streams.it;

import java.nio.file.Path;
import java.util.List;

/**
 * What every scenario has: a broker with topics, a directory, and what is asked of it.
 *
 * @param directory a fresh directory for files and states
 * @param logs the directory of the processes' logs
 * @param broker the address of the broker
 * @param topics the broker's topics
 * @param brief whether the short form is asked for
 * @param kinds the kinds of stores to check
 * @param start the timestamp of the first record of every input
 */
record World(Path directory, Path logs, String broker, Topics topics, boolean brief,
             List<StoreKind> kinds, long start) {
    private static final long STARTED = System.nanoTime();

    /** Prints a line with the seconds since the start. */
    static void say(String line) {
        System.out.printf("%6.1f  %s%n", (System.nanoTime() - STARTED) / 1e9, line);
    }

    /** Prints a check that holds. */
    static void passed(String line) {
        say("  ok: " + line);
    }

    /** Whether a scenario runs on a kind of store: in the short form, on the last one only. */
    boolean isChecked(StoreKind kind) {
        return !brief || kind == kinds.get(kinds.size() - 1);
    }

    /** Returns a number of records: the first in the full form, the second in the short form. */
    long records(long full, long brief) {
        return this.brief ? brief : full;
    }
}
