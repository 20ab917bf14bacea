package foldb.streams.it;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The processes that this program started and that have not ended. */
final class Children {
    private static final Set<Child> LIVE = new LinkedHashSet<>();
    private static long peakMib;

    private Children() {
    }

    /** Makes the end of this program, also by a signal or a failure, end all processes. */
    static void killAtExit() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> live().forEach(Child::kill)));
        Thread sampler = new Thread(Children::sample, "memory");
        sampler.setDaemon(true);
        sampler.start();
    }

    static synchronized void add(Child child) {
        LIVE.add(child);
    }

    static synchronized void remove(Child child) {
        LIVE.remove(child);
    }

    static synchronized List<Child> live() {
        return List.copyOf(LIVE);
    }

    /** Returns the largest sum of the memory of this and all processes so far, in MiB. */
    static synchronized long peakMib() {
        return peakMib;
    }

    private static void sample() {
        while (!Thread.interrupted()) {
            long sum = Child.residentMibOfThis();
            for (Child child : live()) {
                sum += child.residentMib();
            }
            synchronized (Children.class) {
                peakMib = Math.max(peakMib, sum);
            }
            try {
                Thread.sleep(500);
            } catch (InterruptedException e) {
                return;
            }
        }
    }
}
